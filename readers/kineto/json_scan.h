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
  while (at < end && (unsigned char)*at <= ' ') at++;
  return at;
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

/* `at` is behind the opening quote. The text is as it stands in the file, escapes and all. */
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

/* The first of " { } [ ] from `at`. */
static inline const char *scan_bracket(const char *at, const char *end) {
#ifdef __SSE2__
  /* [ and { differ in one bit, and so do ] and }. */
  const __m128i quote = _mm_set1_epi8('"'), open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
  const __m128i bit = _mm_set1_epi8(0x20);
  for (; at < end; at += 16) {
    __m128i bytes;
    memcpy(&bytes, at, sizeof bytes);
    const __m128i high = _mm_or_si128(bytes, bit);
    const __m128i found = _mm_or_si128(_mm_cmpeq_epi8(bytes, quote),
                                       _mm_or_si128(_mm_cmpeq_epi8(high, open), _mm_cmpeq_epi8(high, close)));
    const int mask = _mm_movemask_epi8(found);
    if (mask) {
      at += __builtin_ctz((unsigned)mask);
      return at < end ? at : end;
    }
  }
  return end;
#else
  while (at < end && *at != '"' && (*at | 0x20) != '{' && (*at | 0x20) != '}') at++;
  return at;
#endif
}

/* `at` is at { or [. */
static inline const char *scan_nested(const char *at, const char *end, bool *cut) {
  size_t depth = 0;
  for (;;) {
    at = scan_bracket(at, end);
    if (at == end) {
      *cut = true;
      return NULL;
    }
    const char byte = *at++;
    if (byte == '"') {
      scan_text ignored;
      at = scan_string(at, end, &ignored, cut);
      if (!at) return NULL;
    } else if ((byte | 0x20) == '{') {
      depth++;
    } else if (--depth == 0) {
      return at;
    }
  }
}

/* A number, or a word such as true, null, NaN or N/A. */
static inline const char *scan_bare(const char *at, const char *end, scan_text *text, bool *cut) {
  text->at = at;
  while (at < end && *at != ',' && *at != '}' && *at != ']' && *at != '"' && *at != '{' && *at != '[') at++;
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
