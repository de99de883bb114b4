/* A hash of bytes for tables in memory: fast, and the same in every run. Not against chosen input. */
#ifndef CORE_BASE_HASH_H
#define CORE_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t hash_bytes(const void *bytes, size_t count) {
  const char *at = bytes;
  uint64_t hash = UINT64_C(0x9E3779B97F4A7C15) ^ count;
  for (; count >= 8; at += 8, count -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    hash = (hash ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
    hash ^= hash >> 32;
  }
  uint64_t rest = 0;
  memcpy(&rest, at, count);
  hash = (hash ^ rest) * UINT64_C(0xC4CEB9FE1A85EC53);
  return hash ^ hash >> 29;
}

#endif
