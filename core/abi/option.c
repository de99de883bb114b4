/* Option rows; see option.h. Numbers are read by hand: strtoll and strtod take blanks, signs, hexadecimal, infinities
 * and a prefix of what is there, all of which are mistakes here. */
#include "option.h"

#include "base/suggest.h"
#include "base/visible.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

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

const char *option_type_name(pd_type type) {
  static const char *const names[] = {"unknown", "bool", "int",   "float",   "string",
                                      "choice",  "path", "bytes", "duration"};
  return names[type <= PD_DURATION ? type : 0];
}

static bool is_number(pd_type type) {
  return type == PD_INT || type == PD_FLOAT || type == PD_BYTES || type == PD_DURATION;
}

static void list_choices(const pd_option *row, char *text, size_t room) {
  size_t used = 0;
  text[0] = '\0';
  for (const char *const *choice = row->choices; *choice && used < room; choice++) {
    const int wrote = snprintf(text + used, room - used, "%s%s", choice == row->choices ? "" : ", ", *choice);
    if (wrote > 0) used += (size_t)wrote;
  }
}

/* A bound that says its unit itself, as 60s does. */
static bool has_own_unit(const char *bound) {
  return bound && bound[0] && isalpha((unsigned char)bound[strlen(bound) - 1]);
}

/* "0 .. 256"; with the unit of bare numbers "0 .. 256 samples", and where a bound has a unit of its own "1ms .. 60s".
 */
static void list_range(const pd_option *row, bool with_unit, char *text, size_t room) {
  const char *suffix = with_unit && row->unit && (row->min || row->max) ? row->unit : "";
  const bool each = has_own_unit(row->min) || has_own_unit(row->max);
  const char *const bounds[2] = {row->min, row->max};
  const char *units[2];
  char words[512] = "";
  if (row->choices) list_choices(row, words, sizeof words); /* of a core row */
  for (int i = 0; i < 2; i++)
    units[i] = each && bounds[i] && !has_own_unit(bounds[i]) && strcmp(bounds[i], "0") != 0 ? suffix : "";
  snprintf(text, room, "%s%s .. %s%s%s%s%s%s", row->min ? row->min : "no limit", units[0],
           row->max ? row->max : "no limit", units[1], suffix[0] && !each ? " " : "", each ? "" : suffix,
           words[0] ? " or " : "", words);
}

static const char *allowed(const pd_option *row, bool with_unit, char *text, size_t room) {
  text[0] = '\0';
  if (row->type == PD_CHOICE || (row->type == PD_STRING && row->choices))
    list_choices(row, text, room);
  else if (row->type == PD_BOOL)
    snprintf(text, room, "true, false");
  else if (row->min || row->max || is_number(row->type))
    list_range(row, with_unit, text, room);
  return text;
}

const char *option_allowed(const pd_option *row, char *text, size_t room) { return allowed(row, false, text, room); }

static bool refuse(char *why, size_t room, const char *text) {
  snprintf(why, room, "%s", text);
  return false;
}

/* ---- numbers ---- */

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
    snprintf(why, room, "\"%s\" is no unit of bytes; allowed: B, KiB, MiB, GiB", n->suffix);
  } else if (units == time_units) {
    snprintf(why, room, "\"%s\" is no unit of time; allowed: ns, us, ms, s", n->suffix);
  } else if (row->type == PD_INT && strlen(n->whole) < 10 && !n->fractional && strcasecmp(n->suffix, "k") == 0) {
    snprintf(why, room, "\"%s\" is no unit of a count; write %s or %s000", n->suffix, n->text, n->text);
  } else if (row->type == PD_INT && strlen(n->whole) < 10 && !n->fractional && strcmp(n->suffix, "M") == 0) {
    snprintf(why, room, "\"%s\" is no unit of a count; write %s or %s000000", n->suffix, n->text, n->text);
  } else {
    snprintf(why, room, "\"%s\" is no unit of a %s; write %s", n->suffix, row->type == PD_INT ? "count" : "number",
             n->text);
  }
  return false;
}

static bool too_large(const pd_option *row, char *why, size_t room) {
  char range[640];
  snprintf(why, room, "too large; allowed: %s", allowed(row, true, range, sizeof range));
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
  if (places > 9) return refuse(why, room, "more digits after the point than its unit can hold");
  for (size_t i = 0; i < places; i++) {
    part = part * 10 + (n->fraction[i] - '0');
    power *= 10;
  }
  part *= scale;
  if (part % power != 0)
    return refuse(why, room, row->type == PD_INT ? "not a whole number" : "not a whole number of its smallest unit");
  if (__builtin_add_overflow(whole, part / power, &total)) return too_large(row, why, room);
  if (total % divisor != 0) {
    snprintf(why, room, "not a whole number of %s", row->unit);
    return false;
  }
  *out = n->negative ? -(total / divisor) : total / divisor;
  return true;
}

static bool parse_number(const pd_option *row, const char *text, option_value *value, char *why, size_t room) {
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
    if (row->type == PD_INT && n.fractional && !units) return refuse(why, room, "not a whole number");
    const int64_t divisor = row->type == PD_INT && own ? own->scale : 1; /* INT fields are in the row's unit */
    return scale_whole(row, &n, scale, divisor, &value->integer, why, room);
  }
  if (n.too_long) return refuse(why, room, "too many digits");
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
    option_value bound;
    if (!bounds[i] || !parse_number(row, bounds[i], &bound, why, room)) continue; /* the row's own check finds that */
    const bool beyond = row->type == PD_FLOAT ? (i ? value->real > bound.real : value->real < bound.real)
                                              : (i ? value->integer > bound.integer : value->integer < bound.integer);
    if (!beyond) continue;
    char range[640];
    snprintf(why, room, "out of range; allowed: %s", allowed(row, true, range, sizeof range));
    return false;
  }
  return true;
}

/* ---- the other types ---- */

static bool parse_bool(const char *text, option_value *value, char *why, size_t room) {
  static const char *const words[] = {"false", "true", "no", "yes", "off", "on", "0", "1"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    if (strcasecmp(text, words[i]) != 0) continue;
    value->truth = i % 2 == 1;
    return true;
  }
  return refuse(why, room, "not a boolean; write true or false (also yes, no, on, off, 1, 0)");
}

static bool parse_choice(const pd_option *row, const char *text, option_value *value, char *why, size_t room) {
  suggest near = {.wanted = text};
  for (const char *const *choice = row->choices; *choice; choice++) {
    if (strcmp(*choice, text) == 0) {
      value->text = *choice;
      return true;
    }
    suggest_offer(&near, *choice);
  }
  char choices[512], hint[128];
  list_choices(row, choices, sizeof choices);
  snprintf(why, room, "no such choice; allowed: %s%s", choices, suggest_text(&near, hint, sizeof hint));
  return false;
}

/* Some of the choices, separated by spaces or commas. */
static bool parse_list(const pd_option *row, const char *text, option_value *value, char *why, size_t room) {
  for (const char *at = text + strspn(text, ", "); *at; at += strspn(at, ", ")) {
    char word[64], reason[640];
    option_value one;
    const size_t bytes = strcspn(at, ", ");
    snprintf(word, sizeof word, "%.*s", (int)(bytes < sizeof word ? bytes : sizeof word), at);
    if (bytes >= sizeof word || !parse_choice(row, word, &one, reason, sizeof reason)) {
      snprintf(why, room, "\"%s\": %s", word, bytes < sizeof word ? reason : "no such choice");
      return false;
    }
    at += bytes;
  }
  value->text = text;
  return true;
}

bool option_parse(const pd_option *row, const char *text, option_value *value, char *why, size_t room) {
  memset(value, 0, sizeof *value);
  why[0] = '\0';
  switch (row->type) {
  case PD_BOOL: return parse_bool(text, value, why, room);
  case PD_CHOICE: return parse_choice(row, text, value, why, room);
  case PD_STRING:
    if (row->choices) return parse_list(row, text, value, why, room);
    value->text = text;
    if (visible_is(text)) return true;
    snprintf(why, room, "holds a control character; leave it out");
    return false;
  case PD_PATH: value->text = text; return true;
  case PD_INT:
    for (int64_t i = 0; row->choices && row->choices[i]; i++)
      if (strcmp(row->choices[i], text) == 0) {
        value->integer = -1 - i;
        return true;
      }
    if (row->choices && isalpha((unsigned char)text[0])) {
      char range[640];
      snprintf(why, room, "no such choice; allowed: %s", allowed(row, true, range, sizeof range));
      return false;
    }
    break;
  case PD_FLOAT:
  case PD_BYTES:
  case PD_DURATION: break;
  default: return refuse(why, room, "the row has an unknown type");
  }
  number n;
  if (parse_number(row, text, value, why, room)) return in_bounds(row, value, why, room);
  if (!read_number(text, row->type == PD_FLOAT, &n) && (row->min || row->max || row->choices)) {
    char range[640];
    const size_t used = strlen(why);
    snprintf(why + used, room - used, "; allowed: %s", allowed(row, true, range, sizeof range));
  }
  return false;
}

void option_store(const pd_option *row, const option_value *value, void *options) {
  char *field = (char *)options + row->offset;
  switch (row->type) {
  case PD_BOOL: memcpy(field, &value->truth, sizeof value->truth); break;
  case PD_FLOAT: memcpy(field, &value->real, sizeof value->real); break;
  case PD_STRING:
  case PD_CHOICE:
  case PD_PATH: memcpy(field, &value->text, sizeof value->text); break;
  default: memcpy(field, &value->integer, sizeof value->integer); break;
  }
}

bool option_equal(const pd_option *row, const option_value *a, const option_value *b) {
  switch (row->type) {
  case PD_BOOL: return a->truth == b->truth;
  case PD_FLOAT: return !(a->real < b->real) && !(a->real > b->real);
  case PD_STRING:
  case PD_CHOICE:
  case PD_PATH: return strcmp(a->text, b->text) == 0;
  default: return a->integer == b->integer;
  }
}

/* ---- the row itself ---- */

static size_t field_bytes(pd_type type) {
  switch (type) {
  case PD_BOOL: return sizeof(bool);
  case PD_FLOAT: return sizeof(double);
  case PD_STRING:
  case PD_CHOICE:
  case PD_PATH: return sizeof(const char *);
  default: return sizeof(int64_t);
  }
}

static bool key_is_sound(const char *key) {
  if (!key || !(key[0] >= 'a' && key[0] <= 'z') || strlen(key) > 48) return false;
  for (; *key; key++)
    if (!((*key >= 'a' && *key <= 'z') || (*key >= '0' && *key <= '9') || *key == '_')) return false;
  return true;
}

static bool check_texts(const pd_option *row, char *why, size_t room) {
  const struct { const char *name, *text; } texts[] = {{"min", row->min}, {"max", row->max}, {"def", row->def}};
  option_value values[3] = {{.integer = 0}};
  char reason[512];
  for (int i = 0; i < 3; i++) {
    if (!texts[i].text) continue;
    const bool good = i < 2 ? parse_number(row, texts[i].text, &values[i], reason, sizeof reason)
                            : option_parse(row, texts[i].text, &values[i], reason, sizeof reason);
    if (good) continue;
    snprintf(why, room, "%s = \"%s\": %s", texts[i].name, texts[i].text, reason);
    return false;
  }
  if (row->min && row->max &&
      (row->type == PD_FLOAT ? values[0].real > values[1].real : values[0].integer > values[1].integer)) {
    snprintf(why, room, "min = \"%s\" is above max = \"%s\"", row->min, row->max);
    return false;
  }
  return true;
}

bool option_check_row(const pd_option *row, uint32_t options_size, char *why, size_t room) {
  if (!key_is_sound(row->key)) return refuse(why, room, "its key is not of the form [a-z][a-z0-9_]*");
  if (row->type < PD_BOOL || row->type > PD_DURATION) {
    snprintf(why, room, "type %u is none of 1 .. %d", row->type, PD_DURATION);
    return false;
  }
  if (!row->help || !row->help[0]) return refuse(why, room, "it has no help text");
  const size_t bytes = field_bytes(row->type);
  if ((size_t)row->offset + bytes > options_size || row->offset % bytes != 0) {
    snprintf(why, room, "offset %u does not fit a %s in a struct of %u bytes", row->offset, option_type_name(row->type),
             options_size);
    return false;
  }
  if (row->type == PD_CHOICE && (!row->choices || !row->choices[0])) return refuse(why, room, "it has no choices");
  if (row->choices && row->type != PD_CHOICE && row->type != PD_STRING && row->type != PD_INT)
    return refuse(why, room, "choices belong to a choice");
  if ((row->min || row->max) && !is_number(row->type)) return refuse(why, room, "bounds belong to a number");
  const unit *own = NULL;
  const unit *units = units_of(row, &own);
  if (units && !own) {
    snprintf(why, room, "unit \"%s\" is none of a %s", row->unit, option_type_name(row->type));
    return false;
  }
  return check_texts(row, why, room);
}
