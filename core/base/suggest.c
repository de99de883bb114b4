/* Nearest names; see suggest.h. */
#include "suggest.h"

#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 64 };

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

size_t suggest_distance(const char *a, const char *b) {
  const size_t rows = strlen(a), columns = strlen(b);
  if (rows > NAME_BYTES || columns > NAME_BYTES) return NAME_BYTES + 1;
  size_t table[3][NAME_BYTES + 1]; /* the last three rows of the matrix, in turn */
  for (size_t j = 0; j <= columns; j++) table[0][j] = j;
  for (size_t i = 1; i <= rows; i++) {
    size_t *row = table[i % 3];
    const size_t *above = table[(i + 2) % 3], *two_above = table[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= columns; j++) {
      row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a[i - 1] != b[j - 1]));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = least(row[j], two_above[j - 2] + 1);
    }
  }
  return table[rows % 3][columns];
}

void suggest_offer(suggest *self, const char *candidate) {
  size_t distance = suggest_distance(self->wanted, candidate);
  /* A name whose beginning was typed is near however long the rest is. */
  const size_t length = strlen(self->wanted);
  if (length >= 3 && distance > 1 && strncmp(self->wanted, candidate, length) == 0) distance = 1;
  if (self->best && distance >= self->best_distance) return;
  self->best = candidate;
  self->best_distance = distance;
}

const char *suggest_best(const suggest *self) {
  if (!self->best || self->best_distance > NAME_BYTES) return NULL;
  const size_t length = strlen(self->wanted);
  return self->best_distance <= (length < 6 ? 1 : length / 3) ? self->best : NULL;
}

const char *suggest_text(const suggest *self, char *text, size_t room) {
  const char *best = suggest_best(self);
  if (best)
    snprintf(text, room, "; did you mean %s?", best);
  else
    snprintf(text, room, "%s", "");
  return text;
}
