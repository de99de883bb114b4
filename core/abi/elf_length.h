/* How long a shared object has to be. */
#ifndef CORE_ABI_ELF_LENGTH_H
#define CORE_ABI_ELF_LENGTH_H

#include <stdint.h>

/* The bytes of the file that loading it touches, by its headers; as many of them as are there. 0: it is no ELF file of
 * this machine's class, or cannot be read, which dlopen says better. */
uint64_t elf_length_needed(const char *path);

#endif
