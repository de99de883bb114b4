/* The step log; see step_log.h. */
#include "step_log.h"

#include "kept/long_array.h"
#include "base/stats.h"

#include <math.h>
#include <stdlib.h>

struct step_log {
  long_array all; /* of pd_step_stats */
  uint64_t count;
  long_array losses; /* of double; made by summarise */
};

step_log *step_log_open(const char *folder) {
  step_log *log = calloc(1, sizeof *log);
  if (log) {
    log->all = (long_array){.folder = folder, .row_bytes = sizeof(pd_step_stats)};
    log->losses = (long_array){.folder = folder, .row_bytes = sizeof(double)};
  }
  return log;
}

void step_log_close(step_log *log) {
  if (!log) return;
  long_array_free(&log->all);
  long_array_free(&log->losses);
  free(log);
}

static pd_step_stats *row_at(const step_log *log, uint64_t index) { return (pd_step_stats *)log->all.rows + index; }

pd_status step_log_add(step_log *log, const pd_step_stats *stats) {
  if (!long_array_fit(&log->all, log->count + 1)) return PD_NO_MEMORY;
  *row_at(log, log->count++) = *stats;
  return PD_OK;
}

uint64_t step_log_count(const step_log *log) { return log->count; }
pd_step_stats *step_log_at(step_log *log, uint64_t index) { return row_at(log, index); }

static double mean_of(const step_log *log, size_t offset) {
  double sum = 0;
  for (uint64_t i = 0; i < log->count; i++)
    sum += (double)*(const int64_t *)(const void *)((const char *)row_at(log, i) + offset);
  return log->count ? sum / (double)log->count * 1e-9 : 0;
}

/* Spread in seconds of an int64 nanosecond field over the active steps. `values` has room for all steps. */
static void active_spread(const step_log *log, size_t offset, double *values, pd_spread *spread) {
  uint64_t count = 0;
  for (uint64_t i = 0; i < log->count; i++)
    if (row_at(log, i)->phase == PD_PHASE_ACTIVE)
      values[count++] = (double)*(const int64_t *)(const void *)((const char *)row_at(log, i) + offset) * 1e-9;
  *spread = stats_spread(values, count);
}

pd_status step_log_summarise(step_log *log, int64_t batch_size, pd_summary *summary) {
  const uint64_t count = log->count;
  long_array room = {.folder = log->all.folder, .row_bytes = sizeof(double)};
  if (!long_array_fit(&room, count + 1) || !long_array_fit(&log->losses, count + 1)) {
    long_array_free(&room);
    return PD_NO_MEMORY;
  }
  double *values = room.rows, *losses = log->losses.rows;
  summary->steps = count;
  summary->avg_step_time_s = mean_of(log, offsetof(pd_step_stats, step_time_ns));
  summary->avg_dataloader_wait_s = mean_of(log, offsetof(pd_step_stats, data_wait_ns));
  active_spread(log, offsetof(pd_step_stats, step_time_ns), values, &summary->step_time_s);
  active_spread(log, offsetof(pd_step_stats, data_wait_ns), values, &summary->data_wait_s);
  active_spread(log, offsetof(pd_step_stats, batch_cost_ns), values, &summary->batch_cost_s);
  const double active_s = summary->batch_cost_s.mean * (double)summary->batch_cost_s.count;
  summary->steps_per_s = active_s > 0 ? (double)summary->batch_cost_s.count / active_s : 0;
  summary->samples_per_s = batch_size ? summary->steps_per_s * (double)batch_size : (double)NAN;
  summary->first_batch_s = count ? (double)row_at(log, 0)->data_wait_ns * 1e-9 : 0;
  for (uint64_t i = 0; i < count; i++) losses[i] = row_at(log, i)->loss;
  summary->losses = (pd_array){losses, count, sizeof *losses};
  summary->steps_all = (pd_array){log->all.rows, count, sizeof(pd_step_stats)};
  long_array_free(&room);
  return PD_OK;
}
