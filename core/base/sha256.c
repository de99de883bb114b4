/* See sha256.h. */
#include "sha256.h"

#include <stdio.h>
#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turned(uint32_t value, unsigned by) { return value >> by | value << (32 - by); }

static void expand(const uint8_t *block, uint32_t words[64]) {
  for (int i = 0; i < 16; i++, block += 4)
    words[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
  for (int i = 16; i < 64; i++) {
    const uint32_t early = words[i - 15], late = words[i - 2];
    words[i] = words[i - 16] + (turned(early, 7) ^ turned(early, 18) ^ early >> 3) + words[i - 7] +
               (turned(late, 17) ^ turned(late, 19) ^ late >> 10);
  }
}

/* One round of the eight registers, whose names turn instead of their values. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                                                               \
  do {                                                                                                                 \
    const uint32_t first =                                                                                             \
        (h) + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + (((e) & (f)) ^ (~(e) & (g))) + constants[i] + words[i]; \
    (d) += first;                                                                                                      \
    (h) = first + (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + (((a) & (b)) ^ ((a) & (c)) ^ ((b) & (c)));          \
  } while (0)

static void add_block(sha256 *self, const uint8_t *block) {
  uint32_t words[64], *s = self->state;
  uint32_t a = s[0], b = s[1], c = s[2], d = s[3], e = s[4], f = s[5], g = s[6], h = s[7];
  expand(block, words);
  for (int i = 0; i < 64; i += 8) {
    ROUND(a, b, c, d, e, f, g, h, i);
    ROUND(h, a, b, c, d, e, f, g, i + 1);
    ROUND(g, h, a, b, c, d, e, f, i + 2);
    ROUND(f, g, h, a, b, c, d, e, i + 3);
    ROUND(e, f, g, h, a, b, c, d, i + 4);
    ROUND(d, e, f, g, h, a, b, c, i + 5);
    ROUND(c, d, e, f, g, h, a, b, i + 6);
    ROUND(b, c, d, e, f, g, h, a, i + 7);
  }
  const uint32_t more[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; i++) s[i] += more[i];
}

void sha256_begin(sha256 *self) {
  *self = (sha256){
      .state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19}};
}

void sha256_add(sha256 *self, const void *data, size_t bytes) {
  const uint8_t *at = data;
  while (bytes) {
    const size_t used = self->bytes % sizeof self->block, left = sizeof self->block - used;
    const size_t piece = bytes < left ? bytes : left;
    memcpy(self->block + used, at, piece);
    self->bytes += piece;
    at += piece;
    bytes -= piece;
    if (piece == left) add_block(self, self->block);
  }
}

void sha256_end(sha256 *self, char text[SHA256_TEXT_BYTES]) {
  static const uint8_t end[64] = {0x80};
  const uint64_t bits = 8 * self->bytes;
  uint8_t length[8];
  for (int i = 0; i < 8; i++) length[i] = (uint8_t)(bits >> (56 - 8 * i));
  sha256_add(self, end, 1 + (119 - self->bytes % 64) % 64);
  sha256_add(self, length, sizeof length);
  for (size_t i = 0; i < 8; i++) (void)snprintf(text + 8 * i, 9, "%08x", self->state[i]);
}

bool sha256_file(const char *path, char text[SHA256_TEXT_BYTES]) {
  uint8_t piece[1 << 14];
  sha256 sum;
  size_t bytes;
  FILE *file = fopen(path, "rb");
  if (!file) return false;
  sha256_begin(&sum);
  while ((bytes = fread(piece, 1, sizeof piece, file)) > 0) sha256_add(&sum, piece, bytes);
  const bool whole = !ferror(file);
  fclose(file);
  sha256_end(&sum, text);
  return whole;
}
