/* See program_stretches.h. */
#include "program_stretches.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

bool program_stretches_add(program_stretches *self, const void *rows, uint32_t count, uint64_t *strange) {
  if (!PD_ARRAY_FIT(self->pauses, self->room, self->count + count)) return false;
  for (uint32_t i = 0; i < count; i++) {
    capture_pause row;
    memcpy(&row, (const char *)rows + i * sizeof row, sizeof row);
    if (row.start_ns > 0 && row.end_ns >= row.start_ns)
      self->pauses[self->count++] = row;
    else
      ++*strange;
  }
  return true;
}

static int by_start(const void *a, const void *b) {
  const capture_pause *x = a, *y = b;
  return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* Two that overlap are one. */
void program_stretches_sort(program_stretches *self) {
  uint32_t kept = 0;
  self->is_read = true;
  if (self->count) qsort(self->pauses, self->count, sizeof *self->pauses, by_start);
  for (uint32_t i = 0; i < self->count; i++) {
    capture_pause *last = kept ? &self->pauses[kept - 1] : NULL;
    if (last && self->pauses[i].start_ns <= last->end_ns) {
      if (self->pauses[i].end_ns > last->end_ns) last->end_ns = self->pauses[i].end_ns;
    } else {
      self->pauses[kept++] = self->pauses[i];
    }
  }
  self->count = kept;
}

program_stretch program_stretches_at(const program_stretches *self, uint32_t index) {
  program_stretch out = {.until_ns = INT64_MAX, .next_ns = INT64_MAX};
  if (index > 0) {
    const capture_pause *before = &self->pauses[index - 1];
    out.from_ns = before->end_ns;
    out.paused_ns = before->end_ns - before->start_ns;
    out.lost = before->lost;
  }
  if (index < self->count) {
    out.until_ns = self->pauses[index].start_ns;
    out.next_ns = self->pauses[index].end_ns;
    out.lost_by_end = self->pauses[index].lost;
  }
  return out;
}

void program_stretches_free(program_stretches *self) { free(self->pauses); }
