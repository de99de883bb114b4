/* The failing allocator; see check_alloc.h. The plugin's relocations for these functions are pointed here: other
 * objects of the process do not notice. [any thread] */
#include "check_alloc.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { SLOT_CALL = R_X86_64_JUMP_SLOT, SLOT_DATA = R_X86_64_GLOB_DAT, SLOT_WORD = R_X86_64_64 };
#elif defined(__aarch64__)
enum { SLOT_CALL = R_AARCH64_JUMP_SLOT, SLOT_DATA = R_AARCH64_GLOB_DAT, SLOT_WORD = R_AARCH64_ABS64 };
#else
#define NO_SLOTS 1
#endif

static atomic_uint_fast64_t counted, to_fail;
static atomic_bool failed;

/* What lives: open addressing; NULL is free, TAKEN_OUT was used. */
#define TAKEN_OUT ((void *)1)
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void **living;
static size_t room, used, live;

static size_t place_of(const void *data) { return (size_t)(((uintptr_t)data >> 4) * UINT64_C(0x9e3779b97f4a7c15)); }

static void put(void *data) {
  for (size_t at = place_of(data);; at++) {
    void **slot = &living[at & (room - 1)];
    if (*slot == data) return; /* freed by a library meanwhile, and given out again */
    if (*slot && *slot != TAKEN_OUT) continue;
    used += !*slot;
    *slot = data;
    live++;
    return;
  }
}

static void make_room(void) {
  if (2 * used < room) return;
  void **before = living;
  const size_t count = room;
  room = live * 4 < 1024 ? 1024 : room * 2;
  living = calloc(room, sizeof *living);
  if (!living) {
    fputs("pdhost: out of memory while counting a plugin's allocations\n", stderr);
    _exit(1);
  }
  used = live = 0;
  for (size_t i = 0; i < count; i++)
    if (before[i] && before[i] != TAKEN_OUT) put(before[i]);
  free(before);
}

static void *given(void *data) {
  if (!data) return NULL;
  pthread_mutex_lock(&lock);
  make_room();
  put(data);
  pthread_mutex_unlock(&lock);
  return data;
}

static void taken(void *data) {
  pthread_mutex_lock(&lock);
  for (size_t at = place_of(data); room && data; at++) {
    void **slot = &living[at & (room - 1)];
    if (!*slot) break;
    if (*slot != data) continue;
    *slot = TAKEN_OUT;
    live--;
    break;
  }
  pthread_mutex_unlock(&lock);
}

/* Counts one allocation. True: it is the one to fail. */
static bool fails(void) {
  if (atomic_fetch_add(&counted, 1) + 1 != atomic_load(&to_fail)) return false;
  atomic_store(&failed, true);
  errno = ENOMEM;
  return true;
}

static void *our_malloc(size_t bytes) { return fails() ? NULL : given(malloc(bytes)); }
static void *our_calloc(size_t count, size_t bytes) { return fails() ? NULL : given(calloc(count, bytes)); }
static void *our_realloc(void *data, size_t bytes) {
  if (fails()) return NULL;
  taken(data); /* before: another thread may be given the same address at once */
  void *grown = realloc(data, bytes ? bytes : 1);
  (void)given(grown ? grown : data);
  return grown;
}
static void *our_reallocarray(void *data, size_t count, size_t bytes) {
  size_t whole;
  if (__builtin_mul_overflow(count, bytes, &whole)) {
    errno = ENOMEM;
    return NULL;
  }
  return our_realloc(data, whole);
}
static void *our_aligned_alloc(size_t alignment, size_t bytes) {
  return fails() ? NULL : given(aligned_alloc(alignment, bytes));
}
static int our_posix_memalign(void **out, size_t alignment, size_t bytes) {
  if (fails()) return ENOMEM;
  const int code = posix_memalign(out, alignment, bytes);
  if (!code) (void)given(*out);
  return code;
}
static char *our_strdup(const char *text) { return fails() ? NULL : given(strdup(text)); }
static char *our_strndup(const char *text, size_t most) { return fails() ? NULL : given(strndup(text, most)); }
__attribute__((format(printf, 2, 0))) static int our_vasprintf(char **out, const char *format, va_list args) {
  *out = NULL;
  if (fails()) return -1;
  const int length = vasprintf(out, format, args);
  if (length >= 0) (void)given(*out);
  return length;
}
__attribute__((format(printf, 2, 3))) static int our_asprintf(char **out, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const int length = our_vasprintf(out, format, args);
  va_end(args);
  return length;
}
__attribute__((format(printf, 3, 0))) static int our_vasprintf_chk(char **out, int flag, const char *format,
                                                                   va_list args) {
  (void)flag;
  return our_vasprintf(out, format, args);
}
__attribute__((format(printf, 3, 4))) static int our_asprintf_chk(char **out, int flag, const char *format, ...) {
  va_list args;
  (void)flag;
  va_start(args, format);
  const int length = our_vasprintf(out, format, args);
  va_end(args);
  return length;
}
static void our_free(void *data) {
  taken(data);
  free(data);
}

#ifndef NO_SLOTS
typedef void (*any_function)(void);
static any_function replacement(const char *name) {
  static const struct {
    const char *name;
    any_function function;
  } all[] = {{"malloc", (any_function)our_malloc},
             {"calloc", (any_function)our_calloc},
             {"realloc", (any_function)our_realloc},
             {"reallocarray", (any_function)our_reallocarray},
             {"aligned_alloc", (any_function)our_aligned_alloc},
             {"posix_memalign", (any_function)our_posix_memalign},
             {"strdup", (any_function)our_strdup},
             {"__strdup", (any_function)our_strdup},
             {"strndup", (any_function)our_strndup},
             {"__strndup", (any_function)our_strndup},
             {"asprintf", (any_function)our_asprintf},
             {"vasprintf", (any_function)our_vasprintf},
             {"__asprintf_chk", (any_function)our_asprintf_chk},
             {"__vasprintf_chk", (any_function)our_vasprintf_chk},
             {"free", (any_function)our_free}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (strcmp(all[i].name, name) == 0) return all[i].function;
  return NULL;
}

/* The slots may be read-only by now (RELRO). */
static bool write_slot(uintptr_t address, any_function function) {
  const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = address & ~(page - 1);
  const uintptr_t last = (address + sizeof function - 1) & ~(page - 1);
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): an address out of the object's own tables */
  if (mprotect((void *)first, last - first + page, PROT_READ | PROT_WRITE) != 0) return false;
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): the same */
  memcpy((void *)address, (const void *)&function, sizeof function);
  return true;
}

static bool point_here(const struct link_map *map, const ElfW(Rela) * rows, size_t bytes, const ElfW(Sym) * symbols,
                       const char *names) {
  for (size_t i = 0; rows && i < bytes / sizeof *rows; i++) {
    const uint32_t type = (uint32_t)ELF64_R_TYPE(rows[i].r_info), symbol = (uint32_t)ELF64_R_SYM(rows[i].r_info);
    if ((type != SLOT_CALL && type != SLOT_DATA && type != SLOT_WORD) || !symbol) continue;
    if (symbols[symbol].st_shndx != SHN_UNDEF) continue; /* the plugin's own function of that name */
    const any_function function = replacement(names + symbols[symbol].st_name);
    if (function && !write_slot(map->l_addr + rows[i].r_offset, function)) return false;
  }
  return true;
}
#endif

bool check_alloc_hook(const void *inside) {
#ifdef NO_SLOTS
  (void)inside;
  return false;
#else
  Dl_info about;
  struct link_map *map = NULL;
  if (!dladdr1(inside, &about, (void **)&map, RTLD_DL_LINKMAP) || !map) return false;
  const ElfW(Rela) *calls = NULL, *others = NULL;
  const ElfW(Sym) *symbols = NULL;
  const char *names = NULL;
  size_t call_bytes = 0, other_bytes = 0;
  for (const ElfW(Dyn) *at = map->l_ld; at->d_tag != DT_NULL; at++) {
    /* NOLINTBEGIN(performance-no-int-to-ptr): the loader keeps addresses there */
    switch (at->d_tag) {
    case DT_JMPREL: calls = (const void *)at->d_un.d_ptr; break;
    case DT_PLTRELSZ: call_bytes = at->d_un.d_val; break;
    case DT_RELA: others = (const void *)at->d_un.d_ptr; break;
    case DT_RELASZ: other_bytes = at->d_un.d_val; break;
    case DT_SYMTAB: symbols = (const void *)at->d_un.d_ptr; break;
    case DT_STRTAB: names = (const void *)at->d_un.d_ptr; break;
    default: break;
    }
    /* NOLINTEND(performance-no-int-to-ptr) */
  }
  return symbols && names && point_here(map, calls, call_bytes, symbols, names) &&
         point_here(map, others, other_bytes, symbols, names);
#endif
}

void check_alloc_begin(uint64_t fail_at) {
  pthread_mutex_lock(&lock);
  if (living) memset(living, 0, room * sizeof *living);
  used = live = 0;
  pthread_mutex_unlock(&lock);
  atomic_store(&counted, 0);
  atomic_store(&failed, false);
  atomic_store(&to_fail, fail_at);
}

uint64_t check_alloc_count(void) { return atomic_load(&counted); }
bool check_alloc_has_failed(void) { return atomic_load(&failed); }

uint64_t check_alloc_live(void) {
  pthread_mutex_lock(&lock);
  const uint64_t now = live;
  pthread_mutex_unlock(&lock);
  return now;
}
