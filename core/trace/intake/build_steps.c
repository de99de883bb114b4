/* The steps that the program marked itself. See intake_rows.h. */
#include "intake_rows.h"

#include "trace/sort.h"
#include "trace/trace_steps.h"

#include <stdlib.h>

static bool step_after(const void *rows, uint32_t a, uint32_t b) {
  const read_step *steps = rows;
  return steps[a].start > steps[b].start;
}

/* From mark to mark, and the last to its own end. Marks of other threads, and those inside another one, are left out.
 */
pd_status intake_build_steps(intake_build *self) {
  const read_step *marks = self->from->steps.data;
  const uint64_t count = self->from->steps.count;
  uint64_t kept = 0;
  uint32_t *order = trace_scratch_alloc(count, 2 * sizeof *order);
  step_bounds *bounds = trace_scratch_alloc(count, sizeof *bounds);
  pd_status status = order && bounds ? PD_OK : PD_NO_MEMORY;
  if (status == PD_OK) {
    for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    sort_runs(order, order + count, count, step_after, marks);
    for (uint64_t i = 0; i < count; i++) {
      const read_step *mark = &marks[order[i]];
      if (mark->thread != marks[order[0]].thread) continue;
      if (kept && mark->start - self->base < bounds[kept - 1].end_ns) continue;
      bounds[kept++] = (step_bounds){mark->start - self->base, mark->end - self->base, mark->number};
    }
    for (uint64_t i = 0; i + 1 < kept; i++) bounds[i].end_ns = bounds[i + 1].start_ns;
    status = trace_set_steps(self->trace, bounds, kept < 2 ? 0 : kept);
    if (kept >= 2) self->trace->facts |= PD_FACT_STEPS;
  }
  free(order);
  free(bounds);
  return status;
}
