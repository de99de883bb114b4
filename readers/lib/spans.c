/* See spans.h. */
#include "spans.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* More at a time than anybody looks at. */
enum { MOST_ROWS = 256 };
static const char row_name[] = "ranges of any thread";

bool spans_add(spans *self, int64_t start_ns, int64_t end_ns, uint32_t name) {
  self->failed = self->failed || !PD_ARRAY_FIT(self->all, self->room, self->count + 1);
  if (!self->failed) self->all[self->count++] = (span){start_ns, end_ns, name, 0};
  return !self->failed;
}

static int by_start(const void *a, const void *b) {
  const span *x = a, *y = b;
  if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns ? -1 : 1;
  return (x->end_ns < y->end_ns) - (x->end_ns > y->end_ns);
}

/* Each has the first row that is free when it begins. How many found none. */
static uint32_t choose_rows(spans *self) {
  int64_t free_from[MOST_ROWS];
  uint32_t rows = 0, without = 0;
  for (uint32_t i = 0; i < self->count; i++) {
    span *at = &self->all[i];
    uint32_t row = 0;
    while (row < rows && free_from[row] > at->start_ns) row++;
    at->row = row;
    if (row == MOST_ROWS)
      without++;
    else
      free_from[row] = at->end_ns;
    if (row == rows && row < MOST_ROWS) rows++;
  }
  return without;
}

pd_status spans_give(spans *self, const pd_intake *intake, uint32_t pid) {
  if (self->failed) return PD_NO_MEMORY;
  if (!self->count) return PD_OK;
  qsort(self->all, self->count, sizeof *self->all, by_start);
  const uint32_t without = choose_rows(self), name = intake->intern(intake, row_name, strlen(row_name));
  for (uint32_t i = 0; i < self->count; i++) {
    const span *at = &self->all[i];
    if (at->row == MOST_ROWS) continue;
    const uint32_t row = intake->thread(intake, pid, PD_THREAD_SPANS + at->row);
    const pd_read_range range = {
        .start_ns = at->start_ns, .end_ns = at->end_ns, .name = at->name, .kind = PD_RANGE_USER, .thread = row};
    intake->name_thread(intake, row, name);
    intake->range(intake, &range);
  }
  if (without)
    intake->odd(intake, PD_ODD_NOTE, without,
                "%u ranges are left out: they began while %d others of any thread were open", without, MOST_ROWS);
  return PD_OK;
}

void spans_free(spans *self) {
  free(self->all);
  *self = (spans){.all = NULL};
}
