/* What drawn values have to meet together: "scenario.batch*scenario.dim<=4_000_000". [any thread] */
#ifndef CORE_SWEEP_REQUIREMENT_H
#define CORE_SWEEP_REQUIREMENT_H

#include "base/error.h"

enum { REQUIREMENT_FACTORS = 8 };

typedef struct requirement_factor {
  const char *section, *key; /* NULL: a number */
  double number;
} requirement_factor;

/* A product on either side. */
typedef struct requirement {
  const char *text;
  requirement_factor factors[REQUIREMENT_FACTORS];
  uint32_t left_count, count; /* those of the left side come first */
  bool below, equal;          /* left < right, or else >; and = too */
  char *memory;               /* of the texts */
} requirement;

/* FACTOR*FACTOR<=FACTOR, also with < > and >=; a factor is a section.key or a number. False: a mistake, added to `err`.
 */
bool requirement_parse(const char *text, requirement *out, error *err);
void requirement_free(requirement *self);

/* Whether it is met, with the value of factor i, where that is a key, in values[i]. */
bool requirement_met(const requirement *self, const double values[REQUIREMENT_FACTORS]);

#endif
