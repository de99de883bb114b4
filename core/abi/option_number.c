/* Numbers of options; see option_number.h. They are read by hand: strtoll and strtod take blanks, signs, hexadecimal,
 * infinities and a prefix of what is there, all of which are mistakes here. */
#include "option_number.h"

#include "option_text.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit {
  const char *name;
  int64_t scale; /* nanoseconds or bytes */
} unit;

static const unit time_units[] = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}, {NULL, 0}};
static const unit byte_units[] = {{"B", 1}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};

static const unit *find_unit(const unit *units, const char *name) {
  for (; name && units->name; units++)
    if (strcmp(units->name, name) == 0) return units;
  return NULL;
}

/* The units a number of this row may carry; NULL: none. *own is what a bare number is in. */
static const unit *units_of(const pd_option *row, const unit **own) {
  switch (row->type) {
  case PD_BYTES:
    *own = row->unit && strcmp(row->unit, "bytes") != 0 ? find_unit(byte_units, row->unit) : byte_units;
    return byte_units;
  case PD_DURATION: *own = row->unit ? find_unit(time_units, row->unit) : time_units; return time_units;
  case PD_INT:
  case PD_FLOAT: *own = find_unit(time_units, row->unit); return *own ? time_units : NULL;
  default: *own = NULL; return NULL;
  }
}

/* A number as it was written; the digits without their underscores. */
typedef struct number {
  bool negative, fractional, exponent;
  char text[72];      /* for strtod */
  char whole[32];     /* digits before the point, no leading zeros */
  char fraction[32];  /* digits after it, no trailing zeros */
  bool too_long;      /* more digits than any number of ours has */
  const char *suffix; /* what follows it: a unit, or a mistake */
} number;

/* Copies digits with underscores between digits. Returns the end, or `at` itself when there is no digit. */
static const char *take_digits(const char *at, number *out, char *digits, size_t room) {
  size_t count = 0, used = strlen(out->text);
  while (isdigit((unsigned char)*at) || (*at == '_' && count > 0 && isdigit((unsigned char)at[1]))) {
    if (*at != '_') {
      if (used + 8 < sizeof out->text)
        out->text[used++] = *at;
      else
        out->too_long = true;
      if (digits && count + 1 < room)
        digits[count] = *at;
      else if (digits)
        out->too_long = true;
      count++;
    }
    at++;
  }
  out->text[used] = '\0';
  if (digits) digits[count < room ? count : room - 1] = '\0';
  return at;
}

static void add_char(number *out, char c) {
  const size_t used = strlen(out->text);
  if (used + 2 > sizeof out->text) return;
  out->text[used] = c;
  out->text[used + 1] = '\0';
}

/* False when `text` does not begin with a decimal number. */
static bool read_number(const char *text, bool with_exponent, number *out) {
  memset(out, 0, sizeof *out);
  const char *at = text;
  if (*at == '-') {
    out->negative = true;
    add_char(out, *at++);
  }
  while (*at == '0' && isdigit((unsigned char)at[1])) at++;
  const char *end = take_digits(at, out, out->whole, sizeof out->whole);
  if (end == at) return false;
  at = end;
  if (*at == '.' && isdigit((unsigned char)at[1])) {
    out->fractional = true;
    add_char(out, '.');
    at = take_digits(at + 1, out, out->fraction, sizeof out->fraction);
    for (size_t last = strlen(out->fraction); last > 0 && out->fraction[last - 1] == '0';) out->fraction[--last] = '\0';
  }
  if (with_exponent && (*at == 'e' || *at == 'E')) {
    const char *digits = at + 1 + (at[1] == '-' || at[1] == '+');
    if (isdigit((unsigned char)*digits)) {
      out->exponent = true;
      for (; at < digits; at++) add_char(out, *at);
      at = take_digits(digits, out, NULL, 0);
    }
  }
  if (*at == ' ' && at[1]) at++; /* "2 ms" */
  out->suffix = at;
  return true;
}

/* The suffix of a number: *scale in the units' base; explains an unknown one. */
static bool read_suffix(const pd_option *row, const number *n, const unit *units, const unit *own, int64_t *scale,
                        char *why, size_t room) {
  *scale = own ? own->scale : 1;
  if (!n->suffix[0]) return true;
  const unit *found = units ? find_unit(units, n->suffix) : NULL;
  if (found) {
    *scale = found->scale;
    return true;
  }
  const bool letters = isalpha((unsigned char)n->suffix[0]) || (unsigned char)n->suffix[0] >= 0x80;
  const bool digits = strpbrk(n->suffix, "0123456789") != NULL; /* 0x10, or 1e6 where that is not read */
  if (!letters || digits) {
    snprintf(why, room, "\"%s\" after the number %s%s", n->suffix, n->text,
             letters ? "; write plain digits, as in 1_000_000" : "");
  } else if (units == byte_units) {
    snprintf(why, room, "\"%s\" is not a unit of bytes; allowed: B, KiB, MiB, GiB", n->suffix);
  } else if (units == time_units) {
    snprintf(why, room, "\"%s\" is not a unit of time; allowed: ns, us, ms, s", n->suffix);
  } else if (row->type == PD_INT && strlen(n->whole) < 10 && !n->fractional && strcasecmp(n->suffix, "k") == 0) {
    snprintf(why, room, "\"%s\" is not a unit of a count; write %s or %s000", n->suffix, n->text, n->text);
  } else if (row->type == PD_INT && strlen(n->whole) < 10 && !n->fractional && strcmp(n->suffix, "M") == 0) {
    snprintf(why, room, "\"%s\" is not a unit of a count; write %s or %s000000", n->suffix, n->text, n->text);
  } else {
    snprintf(why, room, "\"%s\" is not a unit of a %s; write %s", n->suffix, row->type == PD_INT ? "count" : "number",
             n->text);
  }
  return false;
}

static bool too_large(const pd_option *row, char *why, size_t room) {
  char range[640];
  snprintf(why, room, "too large; allowed: %s", option_text_allowed(row, true, range, sizeof range));
  return false;
}

/* n * scale / divisor, exactly. */
static bool scale_whole(const pd_option *row, const number *n, int64_t scale, int64_t divisor, int64_t *out, char *why,
                        size_t room) {
  if (n->too_long || strlen(n->whole) > 19) return too_large(row, why, room);
  errno = 0;
  const unsigned long long digits = strtoull(n->whole, NULL, 10);
  int64_t whole, total;
  if (errno || digits > INT64_MAX || __builtin_mul_overflow((int64_t)digits, scale, &whole))
    return too_large(row, why, room);
  /* Nine digits are the most whose product with the largest scale fits. */
  int64_t part = 0, power = 1;
  const size_t places = strlen(n->fraction);
  if (places > 9) return option_text_refuse(why, room, "more digits after the point than its unit can hold");
  for (size_t i = 0; i < places; i++) {
    part = part * 10 + (n->fraction[i] - '0');
    power *= 10;
  }
  part *= scale;
  if (part % power != 0)
    return option_text_refuse(why, room,
                              row->type == PD_INT ? "not a whole number" : "not a whole number of its smallest unit");
  if (__builtin_add_overflow(whole, part / power, &total)) return too_large(row, why, room);
  if (total % divisor != 0) {
    snprintf(why, room, "not a whole number of %s", row->unit);
    return false;
  }
  *out = n->negative ? -(total / divisor) : total / divisor;
  return true;
}

bool option_number_parse(const pd_option *row, const char *text, option_value *value, char *why, size_t room) {
  const unit *own = NULL;
  const unit *units = units_of(row, &own);
  number n;
  int64_t scale;
  if (!read_number(text, row->type == PD_FLOAT, &n)) {
    snprintf(why, room, text[0] ? "not a number" : "no value; write a number");
    return false;
  }
  if (!read_suffix(row, &n, units, own, &scale, why, room)) return false;
  if (row->type != PD_FLOAT) {
    if (row->type == PD_INT && n.fractional && !units) return option_text_refuse(why, room, "not a whole number");
    const int64_t divisor = row->type == PD_INT && own ? own->scale : 1; /* INT fields are in the row's unit */
    return scale_whole(row, &n, scale, divisor, &value->integer, why, room);
  }
  if (n.too_long) return option_text_refuse(why, room, "too many digits");
  value->real = strtod(n.text, NULL);
  if (own && scale > own->scale) {
    const int64_t times = scale / own->scale;
    value->real *= (double)times;
  }
  if (own && scale < own->scale) {
    const int64_t times = own->scale / scale;
    value->real /= (double)times;
  }
  return isfinite(value->real) ? true : too_large(row, why, room);
}

static bool in_bounds(const pd_option *row, const option_value *value, char *why, size_t room) {
  const char *const bounds[2] = {row->min, row->max};
  for (int i = 0; i < 2; i++) {
    option_value bound = {.integer = 0};
    if (!bounds[i] || !option_number_parse(row, bounds[i], &bound, why, room))
      continue; /* the row's own check finds that */
    const bool beyond = row->type == PD_FLOAT ? (i ? value->real > bound.real : value->real < bound.real)
                                              : (i ? value->integer > bound.integer : value->integer < bound.integer);
    if (!beyond) continue;
    char range[640];
    snprintf(why, room, "out of range; allowed: %s", option_text_allowed(row, true, range, sizeof range));
    return false;
  }
  return true;
}

bool option_number_take(const pd_option *row, const char *text, option_value *value, char *why, size_t room) {
  number n;
  if (option_number_parse(row, text, value, why, room)) return in_bounds(row, value, why, room);
  if (!read_number(text, row->type == PD_FLOAT, &n) && (row->min || row->max || row->choices)) {
    char range[640];
    const size_t used = strlen(why);
    snprintf(why + used, room - used, "; allowed: %s", option_text_allowed(row, true, range, sizeof range));
  }
  return false;
}

bool option_number_knows_unit(const pd_option *row) {
  const unit *own = NULL;
  return !units_of(row, &own) || own;
}
