/*
 * How many columns of a terminal a UTF-8 text takes: East Asian wide and fullwidth characters two, combining marks
 * none, everything else one, control characters and stray bytes too. wcwidth() knows only what the
 * process's locale does. For sinks and commands that line up columns. [any thread]
 */
#ifndef PDHOST_TEXT_COLUMNS_H
#define PDHOST_TEXT_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pd_code_range {
  uint32_t first, last;
} pd_code_range;

static inline bool pd_code_is_in(uint32_t code, const pd_code_range *ranges, size_t count) {
  size_t low = 0, high = count;
  while (low < high) {
    const size_t middle = low + (high - low) / 2;
    if (code > ranges[middle].last)
      low = middle + 1;
    else
      high = middle;
  }
  return low < count && code >= ranges[low].first;
}

/* Columns of one character. Ranges after Unicode's EastAsianWidth.txt (W, F) and the marks of category Mn, whole blocks
 * only. */
static inline size_t pd_code_width(uint32_t code) {
  static const pd_code_range wide[] = {
      {0x1100, 0x115F},   {0x231A, 0x231B},   {0x2329, 0x232A},   {0x23E9, 0x23EC},   {0x25FD, 0x25FE},
      {0x2614, 0x2615},   {0x2648, 0x2653},   {0x26A1, 0x26A1},   {0x26AA, 0x26AB},   {0x26BD, 0x26BE},
      {0x26C4, 0x26C5},   {0x26D4, 0x26D4},   {0x2705, 0x2705},   {0x2728, 0x2728},   {0x274C, 0x274C},
      {0x2753, 0x2755},   {0x2757, 0x2757},   {0x2795, 0x2797},   {0x2B1B, 0x2B1C},   {0x2B50, 0x2B50},
      {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},
      {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE10, 0xFE19},   {0xFE30, 0xFE6F},
      {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1B000, 0x1B2FF}, {0x1F300, 0x1F64F},
      {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD},
  };
  static const pd_code_range empty[] = {
      {0x0080, 0x009F}, {0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x0610, 0x061A},
      {0x064B, 0x065F}, {0x200B, 0x200F}, {0x202A, 0x202E}, {0x2060, 0x2064}, {0x20D0, 0x20FF},
      {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}, {0xE0100, 0xE01EF},
  };
  if (code >= 0x20 && code < 0x7F) return 1;
  if (pd_code_is_in(code, empty, sizeof empty / sizeof *empty)) return 0;
  return pd_code_is_in(code, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

/* The character at `utf8`, which has `bytes` > 0, and its length; a stray byte is one of width 1. */
static inline uint32_t pd_code_at(const char *utf8, size_t bytes, size_t *length) {
  const unsigned char *at = (const unsigned char *)utf8;
  const size_t want = at[0] < 0x80 ? 1 : at[0] >= 0xF0 ? 4 : at[0] >= 0xE0 ? 3 : at[0] >= 0xC0 ? 2 : 1;
  uint32_t code = want == 1 ? at[0] : at[0] & (0x7Fu >> want);
  bool whole = want <= bytes && !(want == 1 && at[0] >= 0x80);
  for (size_t i = 1; whole && i < want; i++) {
    whole = (at[i] & 0xC0) == 0x80;
    code = code << 6 | (at[i] & 0x3Fu);
  }
  *length = whole ? want : 1;
  return whole ? code : 0xFFFD;
}

static inline size_t pd_text_columns(const char *utf8, size_t bytes) {
  size_t columns = 0, length = 0;
  for (size_t i = 0; i < bytes; i += length) columns += pd_code_width(pd_code_at(utf8 + i, bytes - i, &length));
  return columns;
}

/* The length in bytes of the longest beginning of `utf8` that takes at most `columns`; never splits a character. */
static inline size_t pd_text_fit(const char *utf8, size_t bytes, size_t columns) {
  size_t used = 0, length = 0, i = 0;
  for (; i < bytes; i += length) {
    const size_t more = pd_code_width(pd_code_at(utf8 + i, bytes - i, &length));
    if (used + more > columns) break;
    used += more;
  }
  return i;
}

#ifdef __cplusplus
}
#endif

#endif
