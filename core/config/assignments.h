/* Keys and values as `pdhost ab`, `pdhost sweep` and cures are given them. [any thread] */
#ifndef CORE_CONFIG_ASSIGNMENTS_H
#define CORE_CONFIG_ASSIGNMENTS_H

#include "config.h"

/* Takes the blanks off both ends, in place: no value of a file has them either. */
char *assignment_trim(char *text);
/* Splits "section.key=value" in place, at the first = and the last dot before it; blanks around the parts are left out.
 * False: it is not an assignment. */
bool assignment_split(char *text, const char **section, const char **key, char **value);

/* Some keys with one value each: "train.fused=true data.batch_size=128". */
typedef struct assignments {
  config_assignment *all;
  uint32_t count;
  uint32_t reserved;
  char *memory; /* of the texts */
} assignments;

/* Separated by spaces; the last dot before a = separates section and key. An empty text has no assignments. `what`
 * begins a message. False: a mistake, added to `err`. */
bool assignments_parse(const char *text, const char *what, assignments *out, error *err);
void assignments_free(assignments *self);
/* Whether a run with `of` would be another one with them, value by value as texts. A mistake in `text`: true.
 * [loop thread] */
bool assignments_change(const char *text, const config *of);

/* "data.num_workers=0,2,4,8": a key with its values; a comma inside a value is written \, */
typedef struct axis {
  const char *section, *key;
  const char **values;
  uint32_t count;
  uint32_t reserved;
  char *memory;
} axis;

/* Every value once. False: a mistake, added to `err`. */
bool axis_parse(const char *text, axis *out, error *err);
void axis_free(axis *self);

#endif
