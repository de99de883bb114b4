/* CRC32C; see crc32c.h. */
#include "crc32c.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define CRC_POLYNOMIAL_REVERSED 0x82F63B78U

static uint32_t table[8][256];
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

/* table[k][b]: what byte b becomes after k more bytes of zero. */
static void make_table(void) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? CRC_POLYNOMIAL_REVERSED : 0);
    table[0][i] = crc;
  }
  for (int k = 1; k < 8; k++)
    for (uint32_t i = 0; i < 256; i++) table[k][i] = table[k - 1][i] >> 8 ^ table[0][table[k - 1][i] & 0xFF];
}

uint32_t crc32c_plain(uint32_t before, const void *data, size_t bytes) {
  const unsigned char *at = data;
  uint32_t crc = ~before;
  pthread_once(&table_once, make_table);
  for (; bytes >= 8; bytes -= 8, at += 8) {
    const uint32_t low = crc ^ (at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24);
    crc = table[7][low & 0xFF] ^ table[6][low >> 8 & 0xFF] ^ table[5][low >> 16 & 0xFF] ^ table[4][low >> 24] ^
          table[3][at[4]] ^ table[2][at[5]] ^ table[1][at[6]] ^ table[0][at[7]];
  }
  for (; bytes; bytes--, at++) crc = crc >> 8 ^ table[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) static uint32_t crc32c_by_instruction(uint32_t before, const void *data,
                                                                        size_t bytes) {
  const unsigned char *at = data;
  uint64_t crc = ~before;
  for (; bytes >= 8; bytes -= 8, at += 8) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    crc = __builtin_ia32_crc32di(crc, word);
  }
  uint32_t low = (uint32_t)crc;
  for (; bytes; bytes--, at++) low = __builtin_ia32_crc32qi(low, *at);
  return ~low;
}
#endif

uint32_t crc32c(uint32_t before, const void *data, size_t bytes) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_by_instruction(before, data, bytes);
#endif
  return crc32c_plain(before, data, bytes);
}
