/* "did you mean": the nearest of some names by edit distance. Offered by name, so that any table can be searched. */
#ifndef CORE_BASE_SUGGEST_H
#define CORE_BASE_SUGGEST_H

#include <stddef.h>

/* Begin with zeros and `wanted`; offer every candidate; suggest_text() then is "; did you mean X?" or "". */
typedef struct suggest {
  const char *wanted;
  const char *best; /* borrowed from the caller of suggest_offer */
  size_t best_distance;
} suggest;

void suggest_offer(suggest *self, const char *candidate);
/* The nearest candidate, or NULL when none is near enough: at most a third of the length changed, but one at least. */
const char *suggest_best(const suggest *self);
const char *suggest_text(const suggest *self, char *text, size_t room);

/* Edits (insert, delete, replace, swap of neighbours) from `a` to `b`; names longer than 64 bytes count as far apart.
 */
size_t suggest_distance(const char *a, const char *b);

#endif
