/* See program_marks.h. */
#include "program_marks.h"

#include <pdhost/array.h>

#include <stdlib.h>

void program_marks_add(program_marks *self, int64_t ns, uint32_t thread) {
  if (PD_ARRAY_FIT(self->all, self->room, self->count + 1)) self->all[self->count++] = (step_mark){ns, thread};
}

static int by_thread_and_time(const void *a, const void *b) {
  const step_mark *x = a, *y = b;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  return (x->ns > y->ns) - (x->ns < y->ns);
}

uint64_t program_marks_give(program_marks *self, const pd_intake *intake, uint64_t number) {
  if (self->count) qsort(self->all, self->count, sizeof *self->all, by_thread_and_time);
  for (uint32_t i = 1; i < self->count; i++) {
    const step_mark *from = &self->all[i - 1], *to = &self->all[i];
    if (from->thread == to->thread) intake->step(intake, to->thread, number++, from->ns, to->ns);
  }
  return number;
}

void program_marks_free(program_marks *self) { free(self->all); }
