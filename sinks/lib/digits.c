/* See digits.h. [any thread] */
#include "digits.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const char digits_pairs[201] = "00010203040506070809"
                               "10111213141516171819"
                               "20212223242526272829"
                               "30313233343536373839"
                               "40414243444546474849"
                               "50515253545556575859"
                               "60616263646566676869"
                               "70717273747576777879"
                               "80818283848586878889"
                               "90919293949596979899";

char *digits_fixed6(char *at, double value) {
  if (!(value >= 0 && value < 1e12)) return digits_double(at, value);
  const uint64_t millionths = (uint64_t)(value * 1e6 + 0.5);
  at = digits_u64(at, millionths / 1000000);
  *at++ = '.';
  const uint32_t rest = (uint32_t)(millionths % 1000000);
  memcpy(at, digits_pairs + (size_t)(rest / 10000) * 2, 2);
  return digits_4(at + 2, rest % 10000);
}

char *digits_fixed12(char *at, double value) {
  if (!(value >= 0 && value < 1e6)) return digits_double(at, value);
  const uint64_t all = (uint64_t)(value * 1e12 + 0.5), scale = UINT64_C(1000000000000);
  uint64_t rest = all % scale;
  at = digits_u64(at, all / scale);
  if (!rest) return at;
  *at++ = '.';
  for (int i = 8; i >= 0; i -= 4, rest /= 10000) (void)digits_4(at + i, (uint32_t)(rest % 10000));
  at += 12;
  while (at[-1] == '0') at--;
  return at;
}

char *digits_double(char *at, double value) {
  char text[DIGITS_ROOM];
  int length;
  if (!isfinite(value)) {
    static const char null[4] = {'n', 'u', 'l', 'l'};
    memcpy(at, null, sizeof null);
    return at + sizeof null;
  }
  length = snprintf(text, sizeof text, "%.15g", value);
  if (strtod(text, NULL) != value) length = snprintf(text, sizeof text, "%.17g", value);
  for (int i = 0; i < length; i++) /* a library may have set a locale */
    if (text[i] == ',') text[i] = '.';
  memcpy(at, text, (size_t)length);
  return at + length;
}
