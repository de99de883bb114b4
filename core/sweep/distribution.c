/* See distribution.h. */
#include "distribution.h"

#include "config/assignments.h"

#include "base/random_bits.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 64 };
/* Whole numbers up to here have no neighbour that a double takes for them. */
#define WHOLE_MOST 0x1p53
#define STEPS_MOST 1e9

static const char *const names[] = {"uniform", "loguniform", "choice"};
static const char grammar[] = "uniform(LOW,HIGH), loguniform(LOW,HIGH), either with ,step=S, or "
                              "choice(VALUE:WEIGHT,VALUE:WEIGHT)";

static bool mistake(const distribution *self, error *err, const char *why) {
  error_add(err, PD_INVALID, CODE_USAGE, "--sample %s.%s=%s: %s", self->section, self->key, self->text, why);
  return false;
}

bool distribution_number(const char *text, double *value) {
  char plain[NUMBER_BYTES], *end;
  size_t used = 0;
  for (const char *at = text; *at; at++) {
    if (*at == '_' && at > text && isdigit((unsigned char)at[-1]) && isdigit((unsigned char)at[1])) continue;
    if (!strchr("0123456789.eE+-", *at) || used == sizeof plain - 1) return false;
    plain[used++] = *at;
  }
  plain[used] = '\0';
  *value = strtod(plain, &end);
  return used && !*end && isfinite(*value);
}

/* ---- parsing ---- */

/* The next of some parts, in place, up to a comma without a backslash before it. NULL: there is none. */
static char *next_part(char **at) {
  char *part = *at, *to = part;
  if (!part) return NULL;
  while (*to && *to != ',') to += to[0] == '\\' && to[1] ? 2 : 1;
  *at = *to ? to + 1 : NULL;
  *to = '\0';
  return assignment_trim(part);
}

/* Ends the value at the colon before its weight and takes the backslashes off. NULL: it has no weight. */
static char *split_weight(char *value) {
  char *to = value, *from = value;
  for (; *from && *from != ':'; *to++ = *from++)
    if (from[0] == '\\' && from[1] && strchr(",:\\", from[1])) from++;
  char *weight = *from ? assignment_trim(from + 1) : NULL;
  *to = '\0';
  (void)assignment_trim(value);
  return weight;
}

static bool take_choice(const distribution *self, char *value, double *weight, error *err) {
  char why[256];
  const char *text = split_weight(value);
  *weight = 0;
  if (!value[0]) return mistake(self, err, "a value is empty");
  if (!text || (distribution_number(text, weight) && *weight > 0)) return true;
  snprintf(why, sizeof why, "the weight %.64s is not a number above 0; a colon in a value is written \\:", text);
  return mistake(self, err, why);
}

/* Weights without a sum of 1 are shares of their sum; all or none are given. */
static bool share_weights(distribution *self, error *err) {
  double sum = 0;
  uint32_t given = 0;
  for (uint32_t i = 0; i < self->count; i++) {
    sum += self->weights[i];
    given += self->weights[i] > 0;
  }
  if (given && given < self->count) return mistake(self, err, "give every value a weight, or none");
  if (!isfinite(sum)) return mistake(self, err, "the weights are too large");
  for (uint32_t i = 0; i < self->count; i++) self->weights[i] = given ? self->weights[i] / sum : 1.0 / self->count;
  return true;
}

static bool take_choices(distribution *self, char *parts, error *err) {
  char why[256];
  size_t most = 1;
  uint32_t count = 0;
  for (const char *at = parts; *at; at++) most += *at == ',';
  const char **values = self->values = calloc(most, sizeof *self->values);
  self->weights = calloc(most, sizeof *self->weights);
  if (!values || !self->weights) {
    error_no_memory(err);
    return false;
  }
  for (char *value = next_part(&parts); value; value = next_part(&parts)) {
    if (!take_choice(self, value, &self->weights[count], err)) return false;
    for (uint32_t i = 0; i < count; i++) {
      if (strcmp(values[i], value) != 0) continue;
      snprintf(why, sizeof why, "%.64s is given twice", value);
      return mistake(self, err, why);
    }
    values[count++] = value;
  }
  self->count = count;
  return share_weights(self, err);
}

static bool take_number(const distribution *self, const char *text, double *value, error *err) {
  char why[256];
  if (distribution_number(text, value)) return true;
  snprintf(why, sizeof why, "\"%.64s\" is not a number; write it bare, in the key's own unit", text);
  return mistake(self, err, why);
}

static bool is_whole(double value) {
  return fabs(value) <= WHOLE_MOST && !(value < rint(value)) && !(value > rint(value));
}

static bool take_range(distribution *self, char *parts, error *err) {
  self->low_text = next_part(&parts);
  self->high_text = next_part(&parts);
  const char *step = next_part(&parts);
  if (!self->high_text || parts || (step && strncmp(step, "step=", 5) != 0))
    return mistake(self, err, "write LOW,HIGH or LOW,HIGH,step=S in the brackets");
  if (!take_number(self, self->low_text, &self->low, err) || !take_number(self, self->high_text, &self->high, err) ||
      (step && !take_number(self, step + 5, &self->step, err)))
    return false;
  if (!(self->low < self->high)) return mistake(self, err, "LOW is not below HIGH");
  if (!isfinite(self->high - self->low)) return mistake(self, err, "HIGH is too far above LOW");
  if (self->kind == DISTRIBUTION_LOGUNIFORM && !(self->low > 0))
    return mistake(self, err, "LOW is not above 0, where logarithms begin");
  if (step && !(self->step > 0)) return mistake(self, err, "the step is not above 0");
  if (step && (self->high - self->low) / self->step > STEPS_MOST)
    return mistake(self, err, "there are more than 1e9 steps");
  self->whole = is_whole(self->low) && is_whole(self->high) && is_whole(self->step);
  return true;
}

/* Finds the name and takes the brackets off. */
static bool take_call(distribution *self, char *call, error *err) {
  char why[256];
  char *open = strchr(call, '(');
  const size_t length = strlen(call);
  snprintf(why, sizeof why, "write %s", grammar);
  if (!open || call[length - 1] != ')') return mistake(self, err, why);
  call[length - 1] = '\0';
  *open = '\0';
  call = assignment_trim(call);
  for (int i = 0; i < 3; i++) {
    if (strcmp(call, names[i]) != 0) continue;
    self->kind = (distribution_kind)i;
    return self->kind == DISTRIBUTION_CHOICE ? take_choices(self, open + 1, err) : take_range(self, open + 1, err);
  }
  return mistake(self, err, why);
}

bool distribution_parse(const char *text, distribution *out, error *err) {
  const size_t bytes = strlen(text) + 1;
  char *call = NULL;
  *out = (distribution){.memory = malloc(2 * bytes)};
  if (!out->memory) {
    error_no_memory(err);
    return false;
  }
  memcpy(out->memory, text, bytes);
  memcpy(out->memory + bytes, text, bytes);
  bool ok = assignment_split(out->memory, &out->section, &out->key, &call);
  if (ok) {
    out->text = out->memory + bytes + (call - out->memory);
    ok = take_call(out, call, err);
  } else {
    error_add(err, PD_INVALID, CODE_USAGE, "--sample %s: write section.key=DISTRIBUTION, which is %s", text, grammar);
  }
  if (!ok) distribution_free(out);
  return ok;
}

void distribution_free(distribution *self) {
  free(self->values);
  free(self->weights);
  free(self->memory);
  *self = (distribution){.values = NULL};
}

bool distribution_set_whole(distribution *self, bool whole, error *err) {
  if (whole && self->kind != DISTRIBUTION_CHOICE && !self->whole)
    return mistake(self, err, "whole numbers alone are drawn for this key: give whole bounds, and a whole step");
  self->whole = whole;
  return true;
}

bool distribution_is_numeric(const distribution *self) {
  double value;
  for (uint32_t i = 0; i < self->count; i++)
    if (!distribution_number(self->values[i], &value)) return false;
  return true;
}

/* ---- drawing ---- */

/* At least 0, below 1. */
static double share(uint64_t *state) { return (double)(random_bits(state) >> 11) * 0x1p-53; }

static const char *draw_choice(const distribution *self, uint64_t *state) {
  double left = share(state);
  uint32_t i = 0;
  for (; i + 1 < self->count && left >= self->weights[i]; i++) left -= self->weights[i];
  return self->values[i];
}

static double between(const distribution *self, double low, double high, double at) {
  return self->kind == DISTRIBUTION_UNIFORM ? low + at * (high - low) : exp(log(low) + at * (log(high) - log(low)));
}

/* One of low, low + step ... : each is drawn for what lies from it up to the next, so that the last one is drawn,
 * too. */
static double draw_step(const distribution *self, double step, uint64_t *state) {
  const double rounding = self->whole ? 0 : 1e-12; /* 0.3 is two steps of 0.1 above 0.1, though not in binary */
  const double last = floor((self->high - self->low) / step * (1 + rounding));
  const double found = between(self, self->low, self->low + (last + 1) * step, share(state));
  return self->low + step * fmax(0, fmin(last, floor((found - self->low) / step)));
}

/* Four digits, and more where the bounds share digits. */
static int digits_of(const distribution *self) {
  const double largest = fmax(fabs(self->low), fabs(self->high));
  const int shared = (int)floor(log10(largest / (self->high - self->low)));
  return 4 + (shared < 0 ? 0 : shared > 11 ? 11 : shared);
}

const char *distribution_draw(const distribution *self, uint64_t *state, char number[DISTRIBUTION_NUMBER_BYTES]) {
  if (self->kind == DISTRIBUTION_CHOICE) return draw_choice(self, state);
  if (self->whole) {
    snprintf(number, DISTRIBUTION_NUMBER_BYTES, "%.0f", draw_step(self, self->step > 0 ? self->step : 1, state));
    return number;
  }
  if (self->step > 0)
    snprintf(number, DISTRIBUTION_NUMBER_BYTES, "%.15g", draw_step(self, self->step, state));
  else
    snprintf(number, DISTRIBUTION_NUMBER_BYTES, "%.*g", digits_of(self),
             between(self, self->low, self->high, share(state)));
  /* Rounding may have left the bounds. */
  const double value = strtod(number, NULL);
  return value < self->low ? self->low_text : value > self->high ? self->high_text : number;
}
