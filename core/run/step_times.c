/* See step_times.h. */
#include "step_times.h"

#include "run_capture.h"

#include <math.h>
#include <stdlib.h>

step_events *step_times_events(run_state *run, uint64_t index) { return &run->events[index % RUN_STEP_EVENTS]; }

static pd_status elapsed(run_state *run, pd_event *from, pd_event *to, int64_t *out_ns) {
  double ns = 0;
  const pd_status status = run->device_ops->stream->event_elapsed_ns(run->access.device, from, to, &ns);
  *out_ns = (int64_t)llround(ns);
  return status;
}

/* Where the iteration of step `index` began on the device: after what was done between the steps, or at the end of the
 * step before. */
static pd_event *iteration_begin(run_state *run, uint64_t index) {
  const step_events *own = step_times_events(run, index);
  return own->restarts ? own->restart : step_times_events(run, index - 1)->end;
}

pd_status step_times_read(run_state *run, uint64_t keep) {
  while (!run->sync_timing && step_log_count(run->log) - run->timed > keep) {
    const step_events *own = step_times_events(run, run->timed);
    pd_step_stats *stats = step_log_at(run->log, run->timed);
    pd_status status = run->device_ops->stream->event_synchronize(run->access.device, own->end);
    if (status == PD_OK) status = elapsed(run, own->start, own->end, &stats->step_time_ns);
    if (status == PD_OK) status = elapsed(run, iteration_begin(run, run->timed), own->end, &stats->batch_cost_ns);
    if (status != PD_OK) return status;
    truth_step_timed(run->truth, stats);
    run->timed++;
  }
  return PD_OK;
}

pd_status step_times_mark(run_state *run, pd_event **event) {
  const pd_stream_ops *stream = run->device_ops->stream;
  if (!*event) {
    const pd_status status = stream->event_create(run->access.device, event);
    if (status != PD_OK) return status;
  }
  return stream->event_record(run->access.device, run->access.stream, *event);
}

void step_times_losses(run_state *run) {
  const uint64_t count = step_log_count(run->log) - run->loss_known;
  if (!count || !run->kit) return;
  double *losses = malloc(count * sizeof *losses);
  uint64_t got = 0;
  if (losses && train_kit_losses(run->kit, losses, count, &got) == PD_OK && got == count)
    for (uint64_t i = 0; i < count; i++) step_log_at(run->log, run->loss_known + i)->loss = losses[i];
  free(losses);
  run->loss_known += count;
  double scale = run->loss_scale;
  if (run->amp && train_kit_loss_scale(run->kit, &scale) == PD_OK) run->loss_scale = scale;
}

void step_times_settle(run_state *run) {
  if (step_times_read(run, 0) != PD_OK) run->timed = step_log_count(run->log);
  truth_settle(run->truth);
  step_times_losses(run);
}

void step_times_deliver(run_state *run) {
  run_capture_steps(run, run->delivered);
  for (; run->delivered < step_log_count(run->log); run->delivered++)
    if (run->sinks) sink_set_step(run->sinks, step_log_at(run->log, run->delivered));
}
