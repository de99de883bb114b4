/*
 * Scanning JSON in a buffer, as fast as a value can be passed over. [at, end) is the buffer, and INPUT_PADDING readable
 * bytes of 0 follow it.
 *
 * A function returns where the value ends, or NULL: then `*cut` says whether the buffer ended within it. What no JSON
 * parser may let pass (NaN, control characters in strings, 007) does pass here: files have it.
 */
#ifndef READERS_KINETO_JSON_SCAN_H
#define READERS_KINETO_JSON_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

typedef struct scan_text {
  const char *at;
  size_t length;
} scan_text;

static inline const char *scan_blanks(const char *at, const char *end) {
#ifdef __SSE2__
  /* Mostly none, one, or a new line's indentation. */
  if (at < end && (unsigned char)*at > ' ') return at;
  const __m128i least = _mm_set1_epi8(' ' + 1);
  for (at++; at < end; at += 16) {
    __m128i bytes;
    memcpy(&bytes, at, sizeof bytes);
    const int mask = _mm_movemask_epi8(_mm_cmpeq_epi8(_mm_max_epu8(bytes, least), bytes));
    if (mask) {
      at += __builtin_ctz((unsigned)mask);
      return at < end ? at : end;
    }
  }
  return end;
#else
  while (at < end && (unsigned char)*at <= ' ') at++;
  return at;
#endif
}

/* The first quote or backslash from `at`; `end` where there is none. */
static inline const char *scan_quote(const char *at, const char *end) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
  for (; at < end; at += 16) {
    __m128i bytes;
    memcpy(&bytes, at, sizeof bytes);
    const int mask = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)));
    if (mask) {
      at += __builtin_ctz((unsigned)mask);
      return at < end ? at : end;
    }
  }
  return end;
#else
  while (at < end && *at != '"' && *at != '\\') at++;
  return at;
#endif
}

/* `at` is after the opening quote. The text is as it is in the file, escapes and all. */
static inline const char *scan_string(const char *at, const char *end, scan_text *text, bool *cut) {
  text->at = at;
  for (;;) {
    at = scan_quote(at, end);
    if (at < end && *at == '"') {
      text->length = (size_t)(at - text->at);
      return at + 1;
    }
    if (end - at < 2) {
      *cut = true;
      return NULL;
    }
    at += 2;
  }
}

#ifdef __SSE2__
/* 64 bytes, a bit for each. */
typedef struct scan_block {
  uint64_t quotes, slashes, opens, closes;
} scan_block;

static inline uint64_t scan_same(const __m128i bytes[4], char byte) {
  const __m128i wanted = _mm_set1_epi8(byte);
  uint64_t mask = 0;
  for (int i = 0; i < 4; i++) mask |= (uint64_t)(unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(bytes[i], wanted)) << 16 * i;
  return mask;
}

/* Those of `left` bytes at most. */
static inline scan_block scan_block_at(const char *at, size_t left) {
  const __m128i bit = _mm_set1_epi8(0x20);
  const uint64_t among = left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX;
  __m128i bytes[4], high[4]; /* [ and { differ in one bit, and so do ] and } */
  memcpy(bytes, at, sizeof bytes);
  for (int i = 0; i < 4; i++) high[i] = _mm_or_si128(bytes[i], bit);
  return (scan_block){.quotes = scan_same(bytes, '"') & among,
                      .slashes = scan_same(bytes, '\\') & among,
                      .opens = scan_same(high, '{') & among,
                      .closes = scan_same(high, '}') & among};
}

/* The bits within strings: from an opening quote up to the closing one. `inside`, 0 or all ones, says whether the block
 * begins in one, and then whether it ends in one. */
static inline uint64_t scan_strings(uint64_t quotes, uint64_t *inside) {
  for (int i = 1; i < 64; i *= 2) quotes ^= quotes << i;
  const uint64_t strings = quotes ^ *inside;
  *inside = (strings >> 63) ? UINT64_MAX : 0;
  return strings;
}
#endif

/* As scan_nested, byte by byte from within. */
const char *scan_nested_slowly(const char *at, const char *end, size_t depth, bool in_string, bool *cut);

/* `at` is at { or [. */
static inline const char *scan_nested(const char *at, const char *end, bool *cut) {
  size_t depth = 0;
#ifdef __SSE2__
  for (uint64_t inside = 0; at < end; at += 64) {
    const scan_block block = scan_block_at(at, (size_t)(end - at));
    if (block.slashes) return scan_nested_slowly(at, end, depth, inside != 0, cut);
    const uint64_t strings = scan_strings(block.quotes, &inside);
    const uint64_t opens = block.opens & ~strings, closes = block.closes & ~strings;
    const size_t open_count = (size_t)__builtin_popcountll(opens), close_count = (size_t)__builtin_popcountll(closes);
    if (close_count < depth) {
      depth += open_count - close_count;
      continue;
    }
    for (uint64_t both = opens | closes; both; both &= both - 1) {
      const int bit = __builtin_ctzll(both);
      if (opens >> bit & 1)
        depth++;
      else if (--depth == 0)
        return at + bit + 1;
    }
  }
  *cut = true;
  return NULL;
#else
  return scan_nested_slowly(at, end, depth, false, cut);
#endif
}

/* Behind the } of an object whose { is before `at`. NULL where another object lies in it, or a backslash, or where the
 * buffer ends within it. */
static inline const char *scan_flat(const char *at, const char *end) {
#ifdef __SSE2__
  for (uint64_t inside = 0; at < end; at += 64) {
    const scan_block block = scan_block_at(at, (size_t)(end - at));
    const uint64_t strings = scan_strings(block.quotes, &inside);
    const uint64_t closes = block.closes & ~strings, upto = closes ? closes ^ (closes - 1) : UINT64_MAX;
    if ((block.slashes | (block.opens & ~strings)) & upto) return NULL;
    if (!closes) continue;
    const char *last = at + __builtin_ctzll(closes);
    return *last == '}' ? last + 1 : NULL;
  }
#else
  (void)at;
  (void)end;
#endif
  return NULL;
}

/* A number, or a word such as true, null, NaN or N/A. */
static inline const char *scan_bare(const char *at, const char *end, scan_text *text, bool *cut) {
  text->at = at;
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
  const __m128i comma = _mm_set1_epi8(','), bit = _mm_set1_epi8(0x20);
  for (; at < end; at += 16) {
    __m128i bytes;
    memcpy(&bytes, at, sizeof bytes);
    const __m128i high = _mm_or_si128(bytes, bit);
    const __m128i plain = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, comma));
    const __m128i nested = _mm_or_si128(_mm_cmpeq_epi8(high, open), _mm_cmpeq_epi8(high, close));
    const int mask = _mm_movemask_epi8(_mm_or_si128(plain, nested));
    if (mask) {
      at += __builtin_ctz((unsigned)mask);
      break;
    }
  }
  if (at > end) at = end;
#else
  while (at < end && *at != ',' && *at != '}' && *at != ']' && *at != '"' && *at != '{' && *at != '[') at++;
#endif
  text->length = (size_t)(at - text->at);
  while (text->length && (unsigned char)text->at[text->length - 1] <= ' ') text->length--;
  if (at == end) {
    *cut = true;
    return NULL;
  }
  return text->length ? at : NULL;
}

static inline const char *scan_value(const char *at, const char *end, scan_text *text, bool *cut) {
  if (at >= end) {
    *cut = true;
    return NULL;
  }
  if (*at == '"') return scan_string(at + 1, end, text, cut);
  if ((*at | 0x20) == '{') {
    const char *after = scan_nested(at, end, cut);
    *text = (scan_text){at, after ? (size_t)(after - at) : 0};
    return after;
  }
  return scan_bare(at, end, text, cut);
}

/* The key of a member and where its value begins; `at` is at the key's quote. */
static inline const char *scan_key(const char *at, const char *end, scan_text *key, bool *cut) {
  if (at >= end) {
    *cut = true;
    return NULL;
  }
  if (*at != '"') return NULL;
  at = scan_string(at + 1, end, key, cut);
  if (!at) return NULL;
  at = scan_blanks(at, end);
  if (at >= end) {
    *cut = true;
    return NULL;
  }
  return *at == ':' ? scan_blanks(at + 1, end) : NULL;
}

static inline bool scan_is(scan_text text, const char *word, size_t length) {
  return text.length == length && memcmp(text.at, word, length) == 0;
}
#define SCAN_IS(text, literal) scan_is(text, literal, sizeof(literal) - 1)

/* Numbers, also those in quotes. False: it is none. A fraction is cut, and an exponent taken into account. */
bool scan_integer(scan_text text, int64_t *out);
bool scan_double(scan_text text, double *out);
/* A decimal times 1000, exactly, rounded to the nearest: microseconds as nanoseconds. */
bool scan_thousandths(scan_text text, int64_t *out);

/* Writes the text without its escapes to `out`, which has room for text.length bytes, and returns its length. */
size_t scan_unescape(scan_text text, char *out);

#endif
