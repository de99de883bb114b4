/* See timer.h. */
#include "timer.h"

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
