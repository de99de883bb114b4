/* Numbers and escapes. See json_scan.h. */
#include "json_scan.h"

#include <math.h>
#include <stdlib.h>

/* The rare forms: exponents, and more digits than fit. */
static bool slowly(scan_text text, double *out) {
  char copy[64], *after;
  if (!text.length || text.length >= sizeof copy) return false;
  memcpy(copy, text.at, text.length);
  copy[text.length] = '\0';
  *out = strtod(copy, &after);
  return after == copy + text.length && isfinite(*out);
}

static bool from_double(double value, int64_t *out) {
  if (!(value > -9.2e18 && value < 9.2e18)) return false;
  *out = (int64_t)llround(value);
  return true;
}

const char *scan_nested_slowly(const char *at, const char *end, size_t depth, bool in_string, bool *cut) {
  for (; at < end; at++) {
    if (in_string) {
      if (*at == '\\')
        at++; /* what follows is no quote */
      else if (*at == '"')
        in_string = false;
    } else if (*at == '"') {
      in_string = true;
    } else if ((*at | 0x20) == '{') {
      depth++;
    } else if ((*at | 0x20) == '}' && --depth == 0) {
      return at + 1;
    }
  }
  *cut = true;
  return NULL;
}

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
enum { EIGHT = sizeof(uint64_t) };
/* Eight digits at once (Lemire, "Quickly parsing eight digits", 2018). False: they are not all digits. */
static inline bool digits_in(uint64_t bytes, uint64_t *out) {
  if ((bytes & (bytes + UINT64_C(0x0606060606060606)) & UINT64_C(0xF0F0F0F0F0F0F0F0)) != UINT64_C(0x3030303030303030))
    return false;
  bytes -= UINT64_C(0x3030303030303030);
  bytes = bytes * 10 + (bytes >> 8);
  *out = ((bytes & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x000F424000000064) +
          (bytes >> 16 & UINT64_C(0x000000FF000000FF)) * UINT64_C(0x0000271000000001)) >>
         32;
  return true;
}

/* One digit to seven, none of the bytes beside them is read. */
static inline bool few_digits(const char *at, size_t count, uint64_t *out) {
  uint64_t bytes;
  if (count >= 4) {
    uint32_t first, last;
    memcpy(&first, at, sizeof first);
    memcpy(&last, at + count - sizeof last, sizeof last);
    bytes = first | (uint64_t)last << 8 * (count - sizeof last);
  } else {
    bytes = (unsigned char)at[0] | (uint64_t)(unsigned char)at[count / 2] << 8 * (count / 2) |
            (uint64_t)(unsigned char)at[count - 1] << 8 * (count - 1);
  }
  return digits_in(bytes << 8 * (EIGHT - count) | UINT64_C(0x3030303030303030) >> 8 * count, out);
}

/* One to fifteen digits. */
static inline bool digits_at(const char *at, size_t count, uint64_t *out) {
  static const uint64_t tens[EIGHT] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000};
  uint64_t bytes, first, last = 0;
  if (count < EIGHT) return few_digits(at, count, out);
  memcpy(&bytes, at, sizeof bytes);
  if (!digits_in(bytes, &first) || (count > EIGHT && !few_digits(at + EIGHT, count - EIGHT, &last))) return false;
  *out = first * tens[count - EIGHT] + last;
  return true;
}

/* As most times are written: 1 to 15 digits, a point, and three more, together times 1000. False: it is not so. */
static bool take_time(scan_text text, int64_t *out) {
  uint64_t whole, part;
  if (text.length < 5 || text.length > 19 || text.at[text.length - 4] != '.' ||
      !digits_at(text.at, text.length - 4, &whole) || !few_digits(text.at + text.length - 3, 3, &part))
    return false;
  *out = (int64_t)(whole * 1000 + part);
  return true;
}

static bool take_integer(scan_text text, int64_t *out) {
  uint64_t value;
  if (!text.length || text.length > 15 || !digits_at(text.at, text.length, &value)) return false;
  *out = (int64_t)value;
  return true;
}
#else
static bool take_time(scan_text text, int64_t *out) { return (void)text, (void)out, false; }
static bool take_integer(scan_text text, int64_t *out) { return (void)text, (void)out, false; }
#endif

/* Digits with an optional point, times 10^`places`. */
static bool decimal(scan_text text, int places, int64_t *out) {
  const char *at = text.at, *end = text.at + text.length;
  const bool negative = at < end && *at == '-';
  if (negative) at++;
  uint64_t value = 0;
  const char *first = at;
  for (; at < end && *at >= '0' && *at <= '9'; at++) {
    if (value > (UINT64_C(9000000000000000000) / 1000 - 9) / 10) goto slow;
    value = value * 10 + (uint64_t)(*at - '0');
  }
  const bool has_digits = at > first;
  int left = places;
  bool up = false;
  if (at < end && *at == '.') {
    for (at++; at < end && *at >= '0' && *at <= '9'; at++) {
      if (left > 0)
        value = value * 10 + (uint64_t)(*at - '0'), left--;
      else if (left-- == 0)
        up = places > 0 && *at >= '5';
    }
  }
  for (; left > 0; left--) value *= 10;
  if (at != end || !has_digits) goto slow;
  value += up;
  *out = negative ? -(int64_t)value : (int64_t)value;
  return true;
slow:;
  double number;
  return slowly(text, &number) && from_double(places ? number * 1000 : trunc(number), out);
}

bool scan_integer(scan_text text, int64_t *out) {
  if (take_integer(text, out)) return true;
  /* Numbers of 19 digits do not fit decimal(), which leaves room for a factor of 1000. */
  if (text.length >= 16 && text.length < 20) {
    char copy[24], *after;
    memcpy(copy, text.at, text.length);
    copy[text.length] = '\0';
    const long long value = strtoll(copy, &after, 10);
    if (after == copy + text.length) {
      *out = value;
      return true;
    }
  }
  return decimal(text, 0, out);
}

bool scan_thousandths(scan_text text, int64_t *out) { return take_time(text, out) || decimal(text, 3, out); }

/* Up to 15 digits are a double exactly, and so is 10^22: one division rounds once, as strtod does (Clinger, "How to
 * read floating point numbers accurately", 1990). */
bool scan_double(scan_text text, double *out) {
  static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  uint64_t value = 0;
  size_t digits = 0, behind = 0, points = 0;
  for (size_t i = 0; i < text.length; i++) {
    const char byte = text.at[i];
    if (byte == '.') {
      points++;
      continue;
    }
    if (byte < '0' || byte > '9' || digits == 15) return slowly(text, out);
    value = value * 10 + (uint64_t)(byte - '0');
    digits++;
    behind += points;
  }
  if (!digits || points > 1) return slowly(text, out);
  *out = (double)value / tens[behind];
  return true;
}

static int hex_value(const char *at) {
  int value = 0;
  for (int i = 0; i < 4; i++) {
    const char c = at[i];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return -1;
    value = value * 16 + digit;
  }
  return value;
}

static size_t put_utf8(uint32_t code, char *out) {
  if (code == 0) code = 0xFFFD; /* a text of the trace ends at its first 0 */
  if (code < 0x80) {
    out[0] = (char)code;
    return 1;
  }
  if (code < 0x800) {
    out[0] = (char)(0xC0 | code >> 6);
    out[1] = (char)(0x80 | (code & 0x3F));
    return 2;
  }
  if (code < 0x10000) {
    out[0] = (char)(0xE0 | code >> 12);
    out[1] = (char)(0x80 | (code >> 6 & 0x3F));
    out[2] = (char)(0x80 | (code & 0x3F));
    return 3;
  }
  out[0] = (char)(0xF0 | code >> 18);
  out[1] = (char)(0x80 | (code >> 12 & 0x3F));
  out[2] = (char)(0x80 | (code >> 6 & 0x3F));
  out[3] = (char)(0x80 | (code & 0x3F));
  return 4;
}

/* \uXXXX, and a pair of surrogates as one character. Returns the bytes used up; 0: it is no such escape. */
static size_t take_code(const char *at, const char *end, char *out, size_t *made) {
  const int first = end - at >= 6 ? hex_value(at + 2) : -1;
  if (first < 0) return 0;
  if (first >= 0xD800 && first < 0xDC00 && end - at >= 12 && at[6] == '\\' && at[7] == 'u') {
    const int second = hex_value(at + 8);
    if (second >= 0xDC00 && second < 0xE000) {
      *made += put_utf8(0x10000 + ((uint32_t)(first - 0xD800) << 10) + (uint32_t)(second - 0xDC00), out);
      return 12;
    }
  }
  *made += put_utf8(first >= 0xD800 && first < 0xE000 ? 0xFFFD : (uint32_t)first, out);
  return 6;
}

size_t scan_unescape(scan_text text, char *out) {
  const char *at = text.at, *end = text.at + text.length;
  size_t made = 0;
  while (at < end) {
    if (*at == '\0') { /* no text holds it */
      out[made++] = ' ';
      at++;
      continue;
    }
    if (*at != '\\' || end - at < 2) {
      out[made++] = *at++;
      continue;
    }
    const char kind = at[1];
    const size_t code = kind == 'u' ? take_code(at, end, out + made, &made) : 0;
    if (code) {
      at += code;
      continue;
    }
    switch (kind) {
    case 'n': out[made++] = '\n'; break;
    case 't': out[made++] = '\t'; break;
    case 'r': out[made++] = '\r'; break;
    case 'b': out[made++] = '\b'; break;
    case 'f': out[made++] = '\f'; break;
    default: out[made++] = kind; break;
    }
    at += 2;
  }
  return made;
}
