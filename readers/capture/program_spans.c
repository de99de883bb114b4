/* See program_spans.h. */
#include "program_spans.h"

uint64_t program_spans_add(spans *self, const capture_annotation *rows, uint32_t count, int64_t from_ns, int64_t cut_ns,
                           const program_names *names) {
  uint64_t strange = 0;
  for (uint32_t i = 0; i < count && !self->failed; i++) {
    const capture_annotation *row = &rows[i];
    const bool is_strange = row->start_ns <= 0 || row->end_ns < row->start_ns;
    strange += is_strange;
    if (is_strange || row->end_ns == row->start_ns || row->start_ns < from_ns || row->end_ns >= cut_ns) continue;
    (void)spans_add(self, row->start_ns, row->end_ns, program_names_at(names, row->name).name);
  }
  return strange;
}
