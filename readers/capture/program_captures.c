/* See program_captures.h. */
#include "program_captures.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

pd_status program_captures_bound(program_captures *self, const pd_activity *call, bool begins) {
  if (begins && call->u.api.result != 0) return PD_OK;
  if (!PD_ARRAY_FIT(self->points, self->point_room, self->point_count + 1)) return PD_NO_MEMORY;
  self->points[self->point_count++] = (capture_point){begins ? call->start : call->end, begins ? 1 : -1};
  return PD_OK;
}

static int by_time(const void *a, const void *b) {
  const capture_point *x = a, *y = b;
  return (x->ns > y->ns) - (x->ns < y->ns);
}

static int by_correlation(const void *a, const void *b) {
  const captured_launch *x = a, *y = b;
  return (x->correlation > y->correlation) - (x->correlation < y->correlation);
}

/* What stays are pairs: from the first begin to the end of the last one within. A capture whose end is missing is
 * left out with all behind it, rather than that every loss from there on would be hidden. */
bool program_captures_sort(program_captures *self) {
  uint32_t kept = 0;
  int32_t depth = 0;
  capture_point begun = {0};
  if (self->point_count) qsort(self->points, self->point_count, sizeof *self->points, by_time);
  for (uint32_t i = 0; i < self->point_count; i++) {
    const capture_point at = self->points[i];
    if (at.change < 0 && !depth) continue; /* it began before the recording */
    if (!depth) begun = at;
    depth += at.change;
    if (depth) continue;
    self->points[kept++] = begun;
    self->points[kept++] = at;
  }
  self->point_count = kept;
  return kept != 0;
}

/* The pairs are in order and apart. */
static bool is_within(const program_captures *self, int64_t ns) {
  uint32_t low = 0, high = self->point_count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (self->points[middle].ns <= ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low % 2 == 1;
}

pd_status program_captures_launch(program_captures *self, const pd_activity *row) {
  if (!pd_activity_is_call(row) || row->u.api.api < PD_API_LAUNCH || row->u.api.api > PD_API_GRAPH_LAUNCH) return PD_OK;
  if (!is_within(self, row->start)) return PD_OK;
  if (!PD_ARRAY_FIT(self->launches, self->launch_room, self->launch_count + 1)) return PD_NO_MEMORY;
  self->launches[self->launch_count++] = (captured_launch){row->correlation, false};
  return PD_OK;
}

/* A runtime call and the driver's within it have one number. */
void program_captures_answers(program_captures *self) {
  uint32_t kept = 0;
  if (self->launch_count) qsort(self->launches, self->launch_count, sizeof *self->launches, by_correlation);
  for (uint32_t i = 0; i < self->launch_count; i++)
    if (!kept || self->launches[kept - 1].correlation != self->launches[i].correlation)
      self->launches[kept++] = self->launches[i];
  self->launch_count = kept;
}

static captured_launch *find(const program_captures *self, uint64_t correlation) {
  const captured_launch key = {.correlation = correlation};
  if (!self->launch_count) return NULL;
  return bsearch(&key, self->launches, self->launch_count, sizeof key, by_correlation);
}

void program_captures_answer(program_captures *self, const pd_activity *row) {
  captured_launch *launch = pd_activity_is_call(row) ? NULL : find(self, row->correlation);
  if (launch) launch->has_run = true;
}

bool program_captures_has(const program_captures *self, uint64_t correlation) {
  const captured_launch *launch = find(self, correlation);
  return launch && !launch->has_run;
}

void program_captures_free(program_captures *self) {
  free(self->points);
  free(self->launches);
}

uint8_t program_captures_name(const char *text, uint32_t bytes) {
  static const char begin[] = "StreamBeginCapture", end[] = "StreamEndCapture";
  if (bytes < 2 || memcmp(text, "cu", 2) != 0) return 0;
  if (memmem(text, bytes, end, sizeof end - 1)) return PROGRAM_CAPTURE_ENDS;
  return memmem(text, bytes, begin, sizeof begin - 1) ? PROGRAM_CAPTURE_BEGINS : 0;
}
