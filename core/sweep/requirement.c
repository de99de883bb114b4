/* See requirement.h. */
#include "requirement.h"

#include "distribution.h"
#include "config/assignments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool mistake(const requirement *self, error *err, const char *why) {
  error_add(err, PD_INVALID, CODE_USAGE,
            "--require %s: %s; write a product of keys and numbers on either side of <=, <, >= or >, as in "
            "data.batch_size*data.image_size<=4096",
            self->text, why);
  return false;
}

static bool take_factor(requirement *self, char *word, error *err) {
  requirement_factor *to = &self->factors[self->count];
  if (self->count == REQUIREMENT_FACTORS) return mistake(self, err, "it has more than eight factors");
  *to = (requirement_factor){.section = NULL};
  if (!distribution_number(word, &to->number)) {
    char *dot = strrchr(word, '.');
    if (!dot || dot == word || !dot[1]) return mistake(self, err, "a factor is neither a section.key nor a number");
    *dot = '\0';
    to->section = word;
    to->key = dot + 1;
  }
  self->count++;
  return true;
}

static bool take_product(requirement *self, char *product, error *err) {
  for (char *word = product, *next = word; next; word = next) {
    char *star = strchr(word, '*');
    next = star ? star + 1 : NULL;
    if (star) *star = '\0';
    if (!take_factor(self, assignment_trim(word), err)) return false;
  }
  return true;
}

static bool take_sides(requirement *self, char *left, error *err) {
  char *sign = strpbrk(left, "<>");
  if (!sign) return mistake(self, err, "nothing is compared");
  self->below = *sign == '<';
  self->equal = sign[1] == '=';
  *sign = '\0';
  if (!take_product(self, left, err)) return false;
  self->left_count = self->count;
  return take_product(self, sign + 1 + self->equal, err);
}

bool requirement_parse(const char *text, requirement *out, error *err) {
  *out = (requirement){.text = text, .memory = strdup(text)};
  if (!out->memory) {
    error_no_memory(err);
    return false;
  }
  const bool ok = take_sides(out, out->memory, err);
  if (!ok) requirement_free(out);
  return ok;
}

void requirement_free(requirement *self) {
  free(self->memory);
  *self = (requirement){.text = NULL};
}

bool requirement_met(const requirement *self, const double values[REQUIREMENT_FACTORS]) {
  double sides[2] = {1, 1};
  for (uint32_t i = 0; i < self->count; i++)
    sides[i >= self->left_count] *= self->factors[i].section ? values[i] : self->factors[i].number;
  if (self->below ? sides[0] < sides[1] : sides[0] > sides[1]) return true;
  return self->equal && !(sides[0] < sides[1]) && !(sides[0] > sides[1]);
}
