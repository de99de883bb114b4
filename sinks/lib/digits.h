/*
 * Numbers as text, without printf: each function writes at `at` and returns the end, with no terminator. The caller has
 * the room: 20 bytes for an integer, 24 for a time, 40 for a double.
 */
#ifndef SINKS_LIB_DIGITS_H
#define SINKS_LIB_DIGITS_H

#include <stdint.h>
#include <string.h>

enum { DIGITS_ROOM = 40 };

/* "00" to "99". */
extern const char digits_pairs[201];

static inline char *digits_u32_below_10000(char *at, uint32_t value) {
  if (value >= 100) {
    const char *high = digits_pairs + value / 100 * 2;
    if (value >= 1000) *at++ = high[0];
    *at++ = high[1];
    memcpy(at, digits_pairs + value % 100 * 2, 2);
    return at + 2;
  }
  if (value >= 10) *at++ = digits_pairs[value * 2];
  *at++ = digits_pairs[value * 2 + 1];
  return at;
}

static inline char *digits_4(char *at, uint32_t value) { /* exactly four */
  memcpy(at, digits_pairs + value / 100 * 2, 2);
  memcpy(at + 2, digits_pairs + value % 100 * 2, 2);
  return at + 4;
}

static inline char *digits_u64(char *at, uint64_t value) {
  if (value < 10000) return digits_u32_below_10000(at, (uint32_t)value);
  if (value < 100000000) {
    at = digits_u32_below_10000(at, (uint32_t)value / 10000);
    return digits_4(at, (uint32_t)value % 10000);
  }
  at = digits_u64(at, value / 100000000);
  const uint32_t low = (uint32_t)(value % 100000000);
  return digits_4(digits_4(at, low / 10000), low % 10000);
}

static inline char *digits_i64(char *at, int64_t value) {
  if (value >= 0) return digits_u64(at, (uint64_t)value);
  *at++ = '-';
  return digits_u64(at, 0 - (uint64_t)value);
}

/* Nanoseconds as microseconds with three digits: 1234567 is "1234.567". Negative times are written as 0.000: no reader
 * of Chrome traces takes them. */
static inline char *digits_us(char *at, int64_t ns) {
  const uint64_t value = ns < 0 ? 0 : (uint64_t)ns;
  const uint32_t rest = (uint32_t)(value % 1000);
  at = digits_u64(at, value / 1000);
  *at++ = '.';
  *at++ = (char)('0' + rest / 100);
  memcpy(at, digits_pairs + rest % 100 * 2, 2);
  return at + 2;
}

/* Six decimals, rounded; for 0 <= value < 1e12, else as digits_double. */
char *digits_fixed6(char *at, double value);

/* Up to twelve decimals, rounded, without zeros after: finer than any float; for 0 <= value < 1e6, else as
 * digits_double. */
char *digits_fixed12(char *at, double value);

/* The shortest of 15 or 17 significant digits that reads back as the same number; "null" for NaN and infinities. */
char *digits_double(char *at, double value);

#endif
