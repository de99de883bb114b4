/*
 * Names of code addresses. See symbols.h.
 *
 * dladdr() knows exported functions only, and takes a static function for the exported one before it; so the files'
 * own symbol tables are read, with every offset in them checked.
 */
#include "symbols.h"
#include "source_lines.h"

#include <pdhost/array.h>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#if UINTPTR_MAX == UINT64_MAX
#define ELF_OWN_CLASS ELFCLASS64
#else
#define ELF_OWN_CLASS ELFCLASS32
#endif

typedef struct symbol {
  uintptr_t start, end; /* in the process */
  const char *name;     /* in the mapped file */
} symbol;

typedef struct module {
  const void *base;
  unsigned char *file;
  size_t bytes;
  symbol *symbols; /* sorted by start */
  size_t count;
  char name[64];
} module;

typedef struct known_address {
  const void *address; /* NULL: free */
  uint32_t id;
  uint32_t reserved;
} known_address;

struct symbols {
  module *modules;
  size_t module_count, module_room;
  known_address *known; /* open addressing */
  size_t known_count, known_mask;
  source_lines *lines; /* NULL: none are known */
};

pd_status symbols_open(symbols **out) {
  symbols *self = calloc(1, sizeof *self);
  *out = NULL;
  if (!self) return PD_NO_MEMORY;
  self->known_mask = 1023;
  self->known = calloc(self->known_mask + 1, sizeof *self->known);
  if (!self->known) {
    free(self);
    return PD_NO_MEMORY;
  }
  self->lines = source_lines_open();
  *out = self;
  return PD_OK;
}

void symbols_close(symbols *self) {
  if (!self) return;
  for (size_t i = 0; i < self->module_count; i++) {
    free(self->modules[i].symbols);
    if (self->modules[i].file) munmap(self->modules[i].file, self->modules[i].bytes);
  }
  free(self->modules);
  free(self->known);
  source_lines_close(self->lines);
  free(self);
}

static void map_file(module *added, const char *path) {
  struct stat info;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  if (!fstat(fd, &info) && S_ISREG(info.st_mode) && info.st_size >= (off_t)sizeof(ElfW(Ehdr))) {
    void *file = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (file != MAP_FAILED) {
      added->file = file;
      added->bytes = (size_t)info.st_size;
    }
  }
  (void)close(fd);
}

static bool lies_within(const module *at, uint64_t offset, uint64_t bytes) {
  return offset <= at->bytes && bytes <= at->bytes - offset;
}

/* The full symbol table, or where it was stripped the dynamic one; NULL where there is neither or the file is odd. */
static const ElfW(Shdr) * symbol_section(const module *at, const ElfW(Shdr) * *sections) {
  const ElfW(Ehdr) *head = (const void *)at->file;
  const ElfW(Shdr) *found = NULL;
  if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != ELF_OWN_CLASS ||
      head->e_shentsize != sizeof(ElfW(Shdr)) || head->e_shoff % _Alignof(ElfW(Shdr)) ||
      !lies_within(at, head->e_shoff, (uint64_t)head->e_shnum * sizeof(ElfW(Shdr))))
    return NULL;
  *sections = (const void *)(at->file + head->e_shoff);
  for (unsigned i = 0; i < head->e_shnum; i++) {
    const ElfW(Shdr) *section = &(*sections)[i];
    if (section->sh_type != SHT_SYMTAB && (section->sh_type != SHT_DYNSYM || found)) continue;
    if (section->sh_entsize != sizeof(ElfW(Sym)) || section->sh_link >= head->e_shnum ||
        section->sh_offset % _Alignof(ElfW(Sym)) || !lies_within(at, section->sh_offset, section->sh_size))
      continue;
    const ElfW(Shdr) *names = &(*sections)[section->sh_link];
    if (!names->sh_size || !lies_within(at, names->sh_offset, names->sh_size) ||
        at->file[names->sh_offset + names->sh_size - 1])
      continue;
    found = section;
    if (section->sh_type == SHT_SYMTAB) break;
  }
  return found;
}

static int compare_symbols(const void *a, const void *b) {
  const symbol *first = a, *second = b;
  if (first->start != second->start) return first->start < second->start ? -1 : 1;
  return strcmp(first->name, second->name);
}

static pd_status read_symbols(module *at, uintptr_t bias) {
  const ElfW(Shdr) *sections = NULL, *section = at->file ? symbol_section(at, &sections) : NULL;
  if (!section) return PD_OK;
  const ElfW(Shdr) *names = &sections[section->sh_link];
  const ElfW(Sym) *rows = (const void *)(at->file + section->sh_offset);
  size_t count = section->sh_size / sizeof *rows;
  at->symbols = malloc((count + 1) * sizeof *at->symbols);
  if (!at->symbols) return PD_NO_MEMORY;
  for (size_t i = 0; i < count; i++) {
    unsigned type = rows[i].st_info & 0xFU;
    if ((type != STT_FUNC && type != STT_GNU_IFUNC) || rows[i].st_shndx == SHN_UNDEF || !rows[i].st_size ||
        rows[i].st_name >= names->sh_size)
      continue;
    at->symbols[at->count++] = (symbol){.start = bias + rows[i].st_value,
                                        .end = bias + rows[i].st_value + rows[i].st_size,
                                        .name = (const char *)at->file + names->sh_offset + rows[i].st_name};
  }
  qsort(at->symbols, at->count, sizeof *at->symbols, compare_symbols);
  return PD_OK;
}

static pd_status find_module(symbols *self, const Dl_info *info, const struct link_map *map, const module **out) {
  for (size_t i = 0; i < self->module_count; i++)
    if (self->modules[i].base == info->dli_fbase) {
      *out = &self->modules[i];
      return PD_OK;
    }
  if (!PD_ARRAY_FIT(self->modules, self->module_room, self->module_count + 1)) return PD_NO_MEMORY;
  module *added = &self->modules[self->module_count];
  char path[PATH_MAX];
  ssize_t length = 0;
  /* The program's own entry has no name, and the name it was started by need not be its file's. */
  if (!map || !map->l_name[0]) length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length > 0)
    path[length] = '\0';
  else
    (void)snprintf(path, sizeof path, "%s", info->dli_fname ? info->dli_fname : "unknown");
  const char *slash = strrchr(path, '/');
  memset(added, 0, sizeof *added);
  added->base = info->dli_fbase;
  (void)snprintf(added->name, sizeof added->name, "%.63s", slash ? slash + 1 : path);
  map_file(added, path);
  self->module_count++;
  *out = added;
  return read_symbols(added, map ? map->l_addr : 0);
}

static const char *find_symbol(const module *at, uintptr_t address) {
  size_t low = 0, high = at->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (at->symbols[middle].start <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low && address < at->symbols[low - 1].end ? at->symbols[low - 1].name : NULL;
}

static pd_status describe(symbols *self, const void *address, char *text, size_t size) {
  char line[256];
  /* A return address may be the first byte of the next function. */
  const char *code = (uintptr_t)address > 1 ? (const char *)address - 1 : NULL;
  const module *at = NULL;
  struct link_map *map = NULL;
  Dl_info info;
  if (!code || !dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP)) {
    (void)snprintf(text, size, "0x%llx", (unsigned long long)(uintptr_t)address);
    return PD_OK;
  }
  pd_status status = find_module(self, &info, map, &at);
  if (status != PD_OK) return status;
  const char *name = find_symbol(at, (uintptr_t)code);
  if (name)
    (void)snprintf(text, size, "%s (%s)", name,
                   source_lines_find(self->lines, code, line, sizeof line) ? line : at->name);
  else
    (void)snprintf(text, size, "%s+0x%llx", at->name, (unsigned long long)((uintptr_t)code - (uintptr_t)at->base));
  return PD_OK;
}

static known_address *slot_of(known_address *known, size_t mask, const void *address) {
  size_t at = ((uintptr_t)address * 0x9E3779B97F4A7C15U >> 20) & mask;
  while (known[at].address && known[at].address != address) at = (at + 1) & mask;
  return &known[at];
}

static pd_status make_room(symbols *self) {
  if (self->known_count * 2 <= self->known_mask) return PD_OK;
  size_t mask = self->known_mask * 2 + 1;
  known_address *bigger = calloc(mask + 1, sizeof *bigger);
  if (!bigger) return PD_NO_MEMORY;
  for (size_t i = 0; i <= self->known_mask; i++)
    if (self->known[i].address) *slot_of(bigger, mask, self->known[i].address) = self->known[i];
  free(self->known);
  self->known = bigger;
  self->known_mask = mask;
  return PD_OK;
}

pd_status symbols_intern(symbols *self, string_table *strings, const void *address, uint32_t *id) {
  char text[512];
  known_address *slot = slot_of(self->known, self->known_mask, address);
  if (address && slot->address) {
    *id = slot->id;
    return PD_OK;
  }
  pd_status status = make_room(self);
  if (status == PD_OK) status = describe(self, address, text, sizeof text);
  if (status != PD_OK) return status;
  *id = strings_intern(strings, text);
  if (!address) return PD_OK;
  *slot_of(self->known, self->known_mask, address) = (known_address){.address = address, .id = *id};
  self->known_count++;
  return PD_OK;
}
