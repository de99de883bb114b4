/* See program_names.h. */
#include "program_names.h"

#include <pdhost/array.h>

#include <stdlib.h>

bool program_names_add(program_names *self, program_name name) {
  if (!PD_ARRAY_FIT(self->rows, self->room, self->count + 1)) return false;
  self->rows[self->count++] = name;
  return true;
}

static int by_id(const void *a, const void *b) {
  const program_name *x = a, *y = b;
  return (x->id > y->id) - (x->id < y->id);
}

void program_names_sort(program_names *self) {
  if (self->count) qsort(self->rows, self->count, sizeof *self->rows, by_id);
}

program_name program_names_at(const program_names *self, uint32_t id) {
  const program_name wanted = {.id = id};
  if (!self->count) return (program_name){0};
  const uint32_t place = id - self->rows[0].id; /* in a whole recording numbers follow one another */
  if (place < self->count && self->rows[place].id == id) return self->rows[place];
  const program_name *found = bsearch(&wanted, self->rows, self->count, sizeof wanted, by_id);
  return found ? *found : (program_name){0};
}

void program_names_free(program_names *self) { free(self->rows); }
