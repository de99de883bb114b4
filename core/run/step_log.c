/* The step log; see step_log.h. */
#include "step_log.h"

#include "base/stats.h"

#include <pdhost/array.h>

#include <math.h>
#include <stdlib.h>

struct step_log {
  pd_step_stats *rows;
  uint64_t count, room;
  double *losses; /* made by summarise */
};

step_log *step_log_open(void) { return calloc(1, sizeof(step_log)); }

void step_log_close(step_log *log) {
  if (!log) return;
  free(log->rows);
  free(log->losses);
  free(log);
}

pd_status step_log_add(step_log *log, const pd_step_stats *stats) {
  if (!PD_ARRAY_FIT(log->rows, log->room, log->count + 1)) return PD_NO_MEMORY;
  log->rows[log->count++] = *stats;
  return PD_OK;
}

uint64_t step_log_count(const step_log *log) { return log->count; }
pd_step_stats *step_log_at(step_log *log, uint64_t index) { return &log->rows[index]; }

static double mean_of(const step_log *log, size_t offset) {
  double sum = 0;
  for (uint64_t i = 0; i < log->count; i++)
    sum += (double)*(const int64_t *)(const void *)((const char *)&log->rows[i] + offset);
  return log->count ? sum / (double)log->count * 1e-9 : 0;
}

/* Spread in seconds of an int64 nanosecond field over the active steps. `values` has room for all steps. */
static void active_spread(const step_log *log, size_t offset, double *values, pd_spread *spread) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < log->count; i++)
    if (log->rows[i].phase == PD_PHASE_ACTIVE)
      values[count++] = (double)*(const int64_t *)(const void *)((const char *)&log->rows[i] + offset) * 1e-9;
  *spread = stats_spread(values, count);
}

pd_status step_log_summarise(step_log *log, int64_t batch_size, pd_summary *summary) {
  const uint64_t count = log->count;
  double *values = malloc((count ? count : 1) * sizeof *values);
  free(log->losses);
  log->losses = malloc((count ? count : 1) * sizeof *log->losses);
  if (!values || !log->losses) {
    free(values);
    return PD_NO_MEMORY;
  }
  summary->steps = count;
  summary->avg_step_time_s = mean_of(log, offsetof(pd_step_stats, step_time_ns));
  summary->avg_dataloader_wait_s = mean_of(log, offsetof(pd_step_stats, data_wait_ns));
  active_spread(log, offsetof(pd_step_stats, step_time_ns), values, &summary->step_time_s);
  active_spread(log, offsetof(pd_step_stats, data_wait_ns), values, &summary->data_wait_s);
  active_spread(log, offsetof(pd_step_stats, batch_cost_ns), values, &summary->batch_cost_s);
  const double active_s = summary->batch_cost_s.mean * (double)summary->batch_cost_s.count;
  summary->steps_per_s = active_s > 0 ? (double)summary->batch_cost_s.count / active_s : 0;
  summary->samples_per_s = batch_size ? summary->steps_per_s * (double)batch_size : (double)NAN;
  summary->first_batch_s = count ? (double)log->rows[0].data_wait_ns * 1e-9 : 0;
  for (uint64_t i = 0; i < count; i++) log->losses[i] = log->rows[i].loss;
  summary->losses = (pd_array){log->losses, count, sizeof *log->losses};
  summary->steps_all = (pd_array){log->rows, count, sizeof *log->rows};
  free(values);
  return PD_OK;
}
