/* See program_tail.h. */
#include "program_tail.h"

#include <pdhost/array.h>

#include <stdlib.h>

/* Launches further ahead of their device than this are not waited for: the device has room for 1024 of them. */
#define AHEAD_NS INT64_C(2000000000)

pd_status program_tail_add(program_tail *self, const pd_activity *row) {
  if (row->end > self->last_ns) self->last_ns = row->end;
  if (self->whole_until_ns == INT64_MAX || row->start < self->whole_until_ns - AHEAD_NS) return PD_OK;
  if (pd_activity_is_call(row)) {
    const bool is_launch =
        row->u.api.result == 0 && (row->u.api.api == PD_API_LAUNCH || row->u.api.api == PD_API_GRAPH_LAUNCH);
    if (!PD_ARRAY_FIT(self->calls, self->call_room, self->call_count + 1)) return PD_NO_MEMORY;
    self->calls[self->call_count++] = (tail_call){row->correlation, row->start, is_launch};
  } else if (pd_activity_is_work(row)) {
    if (!PD_ARRAY_FIT(self->works, self->work_room, self->work_count + 1)) return PD_NO_MEMORY;
    self->works[self->work_count++] = row->correlation;
  }
  return PD_OK;
}

static int by_number(const void *a, const void *b) {
  const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;
  return first > second ? 1 : first < second ? -1 : 0;
}

static int by_correlation(const void *a, const void *b) {
  return by_number(&((const tail_call *)a)->correlation, &((const tail_call *)b)->correlation);
}

void program_tail_cut(program_tail *self) {
  self->cut_ns = self->whole_until_ns;
  if (self->work_count) qsort(self->works, self->work_count, sizeof *self->works, by_number);
  if (self->call_count) qsort(self->calls, self->call_count, sizeof *self->calls, by_correlation);
  for (uint32_t i = 0; i < self->call_count; i++) {
    const tail_call *call = &self->calls[i];
    if (!call->is_launch || call->start_ns >= self->cut_ns) continue;
    if (!self->work_count ||
        !bsearch(&call->correlation, self->works, self->work_count, sizeof *self->works, by_number))
      self->cut_ns = call->start_ns;
  }
}

bool program_tail_has(const program_tail *self, const pd_activity *row) {
  if (row->start < self->cut_ns) return true;
  if (!pd_activity_is_work(row) || !self->call_count) return false;
  const tail_call key = {.correlation = row->correlation};
  const tail_call *call = bsearch(&key, self->calls, self->call_count, sizeof *self->calls, by_correlation);
  return call && call->start_ns < self->cut_ns;
}

void program_tail_free(program_tail *self) {
  free(self->calls);
  free(self->works);
}
