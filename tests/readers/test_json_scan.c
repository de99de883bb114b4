/* Times as numbers of JSON, against the same digit by digit. */
#include "../../readers/kineto/json_scan.h"
#include "pd_test.h"

#include <stdlib.h>

static uint64_t state = 0x243F6A8885A308D3u;
static uint64_t draw(uint64_t below) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state % below;
}

/* Where a byte is not readable any more, a sanitizer sees it. */
static bool scanned(const char *text, size_t length, int64_t *out) {
  char *own = malloc(length);
  memcpy(own, text, length);
  const bool is_number = scan_thousandths((scan_text){own, length}, out);
  free(own);
  return is_number;
}

/* Up to 15 digits, and up to six behind a point; how many bytes. */
static size_t draw_time(char *text, int64_t *ns) {
  size_t length = 0;
  const uint64_t whole = 1 + draw(15), behind = draw(2) ? 3 : draw(7);
  const bool is_negative = draw(8) == 0;
  if (is_negative) text[length++] = '-';
  *ns = 0;
  for (uint64_t i = 0; i < whole; i++) *ns = *ns * 10 + (int64_t)draw(10), text[length++] = (char)('0' + *ns % 10);
  if (behind) text[length++] = '.';
  bool up = false;
  for (uint64_t i = 0; i < behind || i < 3; i++) {
    const int digit = i < behind ? (int)draw(10) : 0;
    if (i < behind) text[length++] = (char)('0' + digit);
    if (i < 3) *ns = *ns * 10 + digit;
    if (i == 3) up = digit >= 5;
  }
  *ns += up;
  if (is_negative) *ns = -*ns;
  return length;
}

Test(json_scan, times_are_exact) {
  for (int i = 0; i < 200000; i++) {
    char text[32];
    int64_t wanted, found = 0;
    const size_t length = draw_time(text, &wanted);
    cr_assert(scanned(text, length, &found), "%.*s", (int)length, text);
    cr_assert_eq(found, wanted, "%.*s: %lld", (int)length, text, (long long)found);
  }
}

Test(json_scan, integers_are_exact) {
  for (int i = 0; i < 200000; i++) {
    const size_t sign = draw(4) == 0, length = sign + 1 + draw(18),
                 wrong = draw(3) ? length : sign + draw(length - sign);
    char *text = malloc(length); /* a sanitizer sees what is read beside it */
    int64_t wanted = 0, found = 0;
    text[0] = '-';
    for (size_t at = sign; at < length; at++) {
      text[at] = (char)('0' + draw(10));
      wanted = wanted * 10 + text[at] - '0';
    }
    if (wrong < length) text[wrong] = "/:z\0"[draw(4)];
    const bool is_number = scan_integer((scan_text){text, length}, &found);
    cr_assert_eq(is_number, wrong == length, "%.*s", (int)length, text);
    if (is_number) cr_assert_eq(found, sign ? -wanted : wanted, "%.*s: %lld", (int)length, text, (long long)found);
    free(text);
  }
  int64_t found;
  cr_assert_not(scan_integer((scan_text){"", 0}, &found));
  cr_assert(scan_integer((scan_text){"9223372036854775807", 19}, &found));
  cr_assert_eq(found, INT64_MAX);
}

Test(json_scan, a_time_with_a_byte_that_is_no_digit_is_none) {
  const char others[] = {'/', ':', ' ', 'z', '\0', (char)0xb0};
  for (int i = 0; i < 200000; i++) {
    char text[32];
    int64_t wanted, found;
    const size_t length = draw_time(text, &wanted), at = draw(length);
    text[at] = others[draw(sizeof others)];
    if (at == 0 && text[0] == ' ') continue; /* strtod passes over a blank */
    cr_assert_not(scanned(text, length, &found), "%.*s", (int)length, text);
  }
}

Test(json_scan, longer_ones) {
  int64_t found;
  cr_assert(scanned("9000000000000000.000", 20, &found));
  cr_assert_eq(found, INT64_C(9000000000000000000));
  cr_assert_not(scanned("99999999999999999.999", 21, &found));
  cr_assert(scanned("999999999999999.999", 19, &found));
  cr_assert_eq(found, INT64_C(999999999999999999));
}
