/* See elf_length.h. */
#include "elf_length.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

/* The end of a part, or UINT64_MAX: no file is as long. */
static uint64_t end_of(uint64_t offset, uint64_t bytes) {
  uint64_t end;
  return __builtin_add_overflow(offset, bytes, &end) ? UINT64_MAX : end;
}
static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t needed(int file) {
  ElfW(Ehdr) head;
  const ssize_t got = pread(file, &head, sizeof head, 0);
  if (got <= EI_DATA || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32) ||
      head.e_ident[EI_DATA] != (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB))
    return 0; /* another machine's: what dlopen says of it is better */
  if ((size_t)got < sizeof head) return sizeof head;
  if (head.e_phentsize != sizeof(ElfW(Phdr))) return 0;
  uint64_t most = end_of(head.e_phoff, (uint64_t)head.e_phnum * sizeof(ElfW(Phdr)));
  if (most > INT64_MAX) return most;
  for (unsigned i = 0; i < head.e_phnum; i++) {
    ElfW(Phdr) part;
    if (pread(file, &part, sizeof part, (off_t)(head.e_phoff + i * sizeof part)) != (ssize_t)sizeof part) break;
    if (part.p_type == PT_LOAD) most = larger(most, end_of(part.p_offset, part.p_filesz));
  }
  return most;
}

uint64_t elf_length_needed(const char *path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const uint64_t bytes = needed(file);
  close(file);
  return bytes;
}
