/* See program_marks.h. */
#include "program_marks.h"

#include <pdhost/array.h>
#include <pdhost/mark.h>

#include <stdlib.h>
#include <string.h>

void program_marks_open(program_marks *self, const pd_intake *intake) {
  self->domain = intake->intern(intake, PD_MARK_DOMAIN, strlen(PD_MARK_DOMAIN));
  self->step_name = intake->intern(intake, PD_MARK_STEP, strlen(PD_MARK_STEP));
  self->input_name = intake->intern(intake, PD_MARK_INPUT, strlen(PD_MARK_INPUT));
}

bool program_marks_take(program_marks *self, uint32_t domain, pd_read_range *range) {
  if (domain != self->domain) return false;
  if (range->name == self->step_name && range->start_ns == range->end_ns) {
    if (PD_ARRAY_FIT(self->all, self->room, self->count + 1))
      self->all[self->count++] = (step_mark){range->start_ns, range->thread};
    return false;
  }
  if (range->name != self->input_name) return false;
  range->kind = PD_RANGE_DATALOADER;
  range->part = PD_PART_DATALOADER;
  return true;
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
