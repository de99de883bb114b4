/* See window_title.h. */
#include "window_title.h"

#include <inttypes.h>
#include <math.h>

/* A run of ours has one rank's windows. */
static bool has_rank(const pd_run *run, const pd_trace *trace) {
  const bool is_known = PD_HAS(pd_trace, trace, ranks) && trace->ranks;
  return is_known && !(PD_HAS(pd_run, run, ranks) && run->ranks);
}

static void add_name(text *out, const pd_run *run, const pd_trace *trace) {
  if (has_rank(run, trace))
    text_format(out, "Rank %" PRIu32 ", window %u", trace->rank, trace->window);
  else
    text_format(out, "Window %u", trace->window);
}

void window_title(text *out, const pd_run *run, const pd_trace *trace, size_t columns) {
  text line = {0};
  const uint64_t steps = trace->steps.count;
  add_name(&line, run, trace);
  if (steps)
    text_format(&line, ": steps %" PRIu64 "..%" PRIu64 " (%" PRIu64 "), %.3f ms",
                PD_AT(pd_trace_step, &trace->steps, 0)->number, PD_AT(pd_trace_step, &trace->steps, steps - 1)->number,
                steps, (double)(trace->end_ns - trace->start_ns) * 1e-6);
  else
    text_add(&line, ": no steps");
  if (PD_HAS(pd_trace, trace, unrecorded_ns) && trace->unrecorded_ns)
    text_format(&line, ", without the %.3f ms of steps between them that were not recorded",
                (double)trace->unrecorded_ns * 1e-6);
  const double coverage = pd_trace_coverage(trace);
  if (isnan(coverage))
    text_add(&line, ", coverage n/a");
  else
    text_format(&line, ", coverage %.2f %%", 100 * coverage);
  out->failed = out->failed || line.failed;
  if (!line.failed) text_wrap(out, line.data, columns, 0);
  text_add(out, "\n");
  text_free(&line);
}

void window_heading(text *out, const pd_run *run, const pd_trace *trace) {
  if (!trace->window && !has_rank(run, trace)) return;
  add_name(out, run, trace);
  text_add(out, "\n");
}
