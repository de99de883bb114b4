/* See timer.h. */
#include "timer.h"

#include "figures.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A whole number as a user may write it, 1_000; it has been checked. */
static int64_t count_of(const char *digits) {
  int64_t count = 0;
  for (; *digits; digits++)
    if (*digits >= '0' && *digits <= '9') count = count * 10 + (*digits - '0');
  return count;
}

void timer_begin(timer *self, const pd_run *run) {
  *self = (timer){.batch_size = run->batch_size, .every = 10};
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    if (!strcmp(setting->section, "profile") && !strcmp(setting->key, "step_info_every")) {
      self->every = count_of(setting->value);
    }
  }
}

void timer_step(timer *self, text *out, const pd_step_stats *stats) {
  self->reader_ns += stats->data_wait_ns;
  self->batch_ns += stats->batch_cost_ns;
  if (!self->every || ++self->steps < self->every) return;
  text_format(out, "step %" PRIu64 " reader_cost: %.5f s batch_cost: %.5f s", stats->index,
              (double)self->reader_ns * 1e-9 / (double)self->steps,
              (double)self->batch_ns * 1e-9 / (double)self->steps);
  if (self->batch_ns > 0)
    text_format(out, " ips: %.3f samples/s",
                (double)self->steps * (double)self->batch_size * 1e9 / (double)self->batch_ns);
  text_add(out, "\n");
  self->reader_ns = self->batch_ns = self->steps = 0;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void row(text *out, const char *name, double *values, uint64_t count, double mean) {
  if (!count) {
    text_format(out, "%-14s %11s %11s %11s %11s %11s\n", name, "-", "-", "-", "-", "-");
    return;
  }
  qsort(values, count, sizeof *values, by_value);
  /* Rounding may carry a mean past an extreme. */
  if (mean < values[0]) mean = values[0];
  if (mean > values[count - 1]) mean = values[count - 1];
  text_format(out, "%-14s %11.5f %11.5f %11.5f %11.5f %11.5f\n", name, mean, values[count - 1], values[0],
              figures_quantile(values, count, 0.5), figures_quantile(values, count, 0.95));
}

void timer_summary(text *out, const pd_run *run, const pd_summary *summary) {
  const uint64_t all = summary->steps_all.count;
  double *values = malloc((3 * all + 1) * sizeof *values), *reader = values, *batch, *rate;
  uint64_t count = 0, rates = 0, first = 0, last = 0;
  int64_t reader_ns = 0, batch_ns = 0;
  bool any_active = false;
  if (!values) {
    out->failed = true;
    return;
  }
  batch = values + all;
  rate = batch + all;
  for (uint64_t i = 0; i < all; i++)
    any_active = any_active || PD_AT(pd_step_stats, &summary->steps_all, i)->phase == PD_PHASE_ACTIVE;
  for (uint64_t i = 0; i < all; i++) {
    const pd_step_stats *step = PD_AT(pd_step_stats, &summary->steps_all, i);
    if (any_active && step->phase != PD_PHASE_ACTIVE) continue;
    if (!count) first = step->index;
    last = step->index;
    reader[count] = (double)step->data_wait_ns * 1e-9;
    batch[count++] = (double)step->batch_cost_ns * 1e-9;
    if (step->batch_cost_ns > 0) rate[rates++] = (double)run->batch_size * 1e9 / (double)step->batch_cost_ns;
    reader_ns += step->data_wait_ns;
    batch_ns += step->batch_cost_ns;
  }
  text_bold(out, "Perf Summary");
  text_format(out, "   over %" PRIu64 " %ssteps, %" PRIu64 "..%" PRIu64 "\n", count, any_active ? "active " : "", first,
              last);
  if (batch_ns > 0)
    text_format(out, "Reader Ratio: %.3f%%\n", 100 * (double)reader_ns / (double)batch_ns);
  else
    text_add(out, "Reader Ratio: -\n");
  text_add(out, "Time Unit: s, IPS Unit: samples/s\n");
  text_repeat(out, '-', 74);
  text_format(out, "\n%-14s %11s %11s %11s %11s %11s\n", "", "avg", "max", "min", "p50", "p95");
  text_repeat(out, '-', 74);
  text_add(out, "\n");
  row(out, "reader_cost", reader, count, count ? (double)reader_ns * 1e-9 / (double)count : 0);
  row(out, "batch_cost", batch, count, count ? (double)batch_ns * 1e-9 / (double)count : 0);
  row(out, "ips", rate, rates, batch_ns > 0 ? (double)count * (double)run->batch_size * 1e9 / (double)batch_ns : 0);
  text_repeat(out, '-', 74);
  text_add(out, "\nThe average ips is total samples over total time.\n\n");
  free(values);
}
