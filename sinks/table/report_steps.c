/* See report_steps.h. */
#include "report_steps.h"

#include "plots.h"

#include <pdhost/quantity.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURE_ROOM = 48, LABEL_COLUMNS = 17 };

static void put_spread(text *out, const char *name, const pd_spread *of, const pd_scale *unit) {
  const double values[] = {of->median, of->min, of->p10, of->p90, of->max};
  text_format(out, "  %-*s", LABEL_COLUMNS, name);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) text_figure(out, values[i] * 1e9 / unit->size, 8);
  text_add(out, "\n");
}

/* Iterations of the active steps, in nanoseconds; how many. */
static uint64_t active_steps(const pd_summary *summary, double *values, uint64_t *first, uint64_t *last) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < summary->steps_all.count; i++) {
    const pd_step_stats *step = PD_AT(pd_step_stats, &summary->steps_all, i);
    if (step->phase != PD_PHASE_ACTIVE) continue;
    if (!count) *first = step->index;
    *last = step->index;
    values[count++] = (double)step->batch_cost_ns;
  }
  return count;
}

static void put_rates(text *out, const pd_summary *summary, uint64_t first, uint64_t last, uint64_t count,
                      size_t columns) {
  char memory[FIGURE_ROOM];
  text line = {0};
  if (count > 1)
    text_format(&line, "steps %" PRIu64 " to %" PRIu64 " (%" PRIu64 ")", first, last, count);
  else
    text_format(&line, "step %" PRIu64, first);
  const char *before = ": ";
  if (!isnan(summary->samples_per_s)) {
    text_format(&line, "%s%.*f samples/s", before, pd_decimals(summary->samples_per_s), summary->samples_per_s);
    before = ", ";
  }
  if (summary->peak_allocated_bytes) {
    pd_text_bytes(memory, sizeof memory, (double)summary->peak_allocated_bytes);
    text_format(&line, "%sdevice memory up to %s", before, memory);
  }
  out->failed = out->failed || line.failed;
  if (!line.failed) text_wrap(out, line.data, columns, 2);
  text_free(&line);
}

void report_steps(text *out, const pd_run *run, const pd_summary *summary, size_t columns) {
  double *values = malloc((summary->steps_all.count + 1) * sizeof *values);
  uint64_t first = 0, last = 0;
  char title[96], least[FIGURE_ROOM], most[FIGURE_ROOM];
  if (!values) {
    out->failed = true;
    return;
  }
  const uint64_t count = active_steps(summary, values, &first, &last);
  if (!count) {
    text_add(out, "No step was active: there are no figures of active steps.\n");
    free(values);
    return;
  }
  const pd_scale unit = pd_time_scale(summary->batch_cost_s.median * 1e9);
  snprintf(title, sizeof title, "Steps, %s", unit.name);
  text_bold(out, title);
  text_repeat(out, ' ', LABEL_COLUMNS + 2 - strlen(title));
  text_format(out, "%8s%8s%8s%8s%8s\n", "median", "min", "p10", "p90", "max");
  put_spread(out, "whole step", &summary->batch_cost_s, &unit);
  const bool is_ours =
      run->batch_size > 0; /* else another program's: its steps are the host's, its waits may be unknown */
  put_spread(out, run->sync_timing || !is_ours ? "after the wait" : "step on device", &summary->step_time_s, &unit);
  if (is_ours || summary->data_wait_s.max > 0) put_spread(out, "data wait", &summary->data_wait_s, &unit);
  const size_t strip = columns - LABEL_COLUMNS - 4 - 22;
  pd_text_time(least, sizeof least, summary->batch_cost_s.min * 1e9);
  pd_text_time(most, sizeof most, summary->batch_cost_s.max * 1e9);
  if (count > 1) {
    text_format(out, "  %-*s", LABEL_COLUMNS, "each in order");
    text_add(out, "  ");
    plots_strip(out, values, count, strip, plots_unicode());
    text_format(out, "  %s to %s\n", least, most);
  }
  put_rates(out, summary, first, last, count, columns);
  free(values);
}
