/* SHA-256 (FIPS 180-4): tells whether a file is still the one that it was. [any thread] */
#ifndef CORE_BASE_SHA256_H
#define CORE_BASE_SHA256_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SHA256_TEXT_BYTES = 65 };

typedef struct sha256 {
  uint32_t state[8];
  uint64_t bytes;
  uint8_t block[64];
} sha256;

void sha256_begin(sha256 *self);
void sha256_add(sha256 *self, const void *data, size_t bytes);
/* In hexadecimal digits, with a 0 after them. */
void sha256_end(sha256 *self, char text[SHA256_TEXT_BYTES]);
/* The same of a whole file. False, with errno: it cannot be read. */
bool sha256_file(const char *path, char text[SHA256_TEXT_BYTES]);

#endif
