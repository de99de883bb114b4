/* See throughput.h. */
#include "throughput.h"

#include "figures.h"

#include <inttypes.h>
#include <string.h>

/* A whole number as a user may write it, 1_000; it has been checked. */
static int64_t count_of(const char *digits) {
  int64_t count = 0;
  for (; *digits; digits++)
    if (*digits >= '0' && *digits <= '9') count = count * 10 + (*digits - '0');
  return count;
}

void timer_begin(timer *self, const pd_run *run) {
  *self = (timer){.batch_size = run->batch_size, .every = 10, .unit = "samples"};
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    if (!strcmp(setting->section, "profile") && !strcmp(setting->key, "step_info_every")) {
      self->every = count_of(setting->value);
    }
    if (!strcmp(setting->section, "profile") && !strcmp(setting->key, "step_info_unit") && setting->value)
      self->unit = setting->value;
  }
}

static void figure(text *out, const pd_analysis *analysis, double *values, uint64_t count, double value) {
  const bool asks = analysis && PD_HAS(pd_analysis, analysis, digits);
  char number[48];
  figures_write(number, sizeof number, value,
                asks ? (int)analysis->digits(analysis, values, count) : FIGURES_DIGITS_UNKNOWN, FIGURES_MOST_DECIMALS);
  text_add(out, number);
}

void timer_step(timer *self, const pd_analysis *analysis, text *out, const pd_step_stats *stats) {
  if (!self->every) return;
  if (self->steps < TIMER_KEPT) {
    self->reader_s[self->steps] = (double)stats->data_wait_ns * 1e-9;
    self->batch_s[self->steps] = (double)stats->batch_cost_ns * 1e-9;
  }
  self->reader_ns += stats->data_wait_ns;
  self->batch_ns += stats->batch_cost_ns;
  if (++self->steps < self->every) return;
  const double steps = (double)self->steps, batch_s = (double)self->batch_ns * 1e-9;
  const uint64_t kept = (uint64_t)(self->steps < TIMER_KEPT ? self->steps : TIMER_KEPT);
  text_format(out, "step %" PRIu64 " reader_cost: ", stats->index);
  figure(out, analysis, self->reader_s, kept, (double)self->reader_ns * 1e-9 / steps);
  text_add(out, " s batch_cost: ");
  figure(out, analysis, self->batch_s, kept, batch_s / steps);
  text_add(out, " s");
  const bool by_steps = !strcmp(self->unit, "steps");
  if (self->batch_ns > 0 && (self->batch_size || by_steps)) {
    text_add(out, " ips: ");
    figure(out, analysis, self->batch_s, kept, steps * (by_steps ? 1 : (double)self->batch_size) / batch_s);
    text_format(out, " %s/s", self->unit);
  }
  text_add(out, "\n");
  self->reader_ns = self->batch_ns = self->steps = 0;
}
