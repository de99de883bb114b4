/* See elf_length.h. */
#include "elf_length.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

static uint64_t larger(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint64_t needed(int file) {
  ElfW(Ehdr) head;
  const ssize_t got = pread(file, &head, sizeof head, 0);
  if (got <= EI_CLASS || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_ident[EI_CLASS] != (sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32))
    return 0;
  if ((size_t)got < sizeof head) return sizeof head;
  uint64_t most = head.e_phoff + (uint64_t)head.e_phnum * sizeof(ElfW(Phdr));
  for (unsigned i = 0; i < head.e_phnum; i++) {
    ElfW(Phdr) part;
    if (pread(file, &part, sizeof part, (off_t)(head.e_phoff + i * sizeof part)) != (ssize_t)sizeof part) break;
    if (part.p_type == PT_LOAD) most = larger(most, part.p_offset + part.p_filesz);
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
