/* See measured_step.h. */
#include "measured_step.h"

#include "board.h"
#include "step_times.h"
#include "base/monotonic.h"

#include <stdio.h>

pd_status measured_step_fail(run_state *run, pd_status status, service_host *host, const char *where) {
  if (run->failed != PD_OK) return status;
  char message[768] = "";
  if (host) service_host_take_message(host, message, sizeof message);
  /* A failure in a service that a plugin called is that service's to explain. */
  if (!message[0] && run->core_host) service_host_take_message(run->core_host, message, sizeof message);
  if (!message[0] && run->device_host) service_host_take_message(run->device_host, message, sizeof message);
  snprintf(run->failure, sizeof run->failure, "%s: %s", where, message[0] ? message : service_status_text(status));
  run->failed = status;
  return status;
}

pd_status measured_step_wait(run_state *run) { return run->device_ops->stream->device_synchronize(run->access.device); }

void measured_step_offer(run_state *run, pd_batch *next) {
  if (run->prefetch_to_device) train_kit_offer_next(run->kit, data_loader_peek(run->loader, next) ? next : NULL);
}

pd_status measured_step_end_iterator(run_state *run) {
  const pd_status status = run->prefetch_to_device ? train_kit_forget_next(run->kit) : PD_OK;
  data_loader_iter_end(run->loader);
  return status == PD_OK ? status : measured_step_fail(run, status, run->core_host, "training kit");
}

pd_status measured_step_finish(run_state *run) {
  char where[128];
  if (!PD_HAS(pd_scenario_ops, run->scenario, finish) || !run->scenario->finish) return PD_OK;
  board_enter("scenario", run->scenario_name, "its end");
  const pd_status status = run->scenario->finish(run->scenario_state);
  board_leave();
  (void)snprintf(where, sizeof where, "scenario %s: its end", run->scenario_name);
  return status == PD_OK ? PD_OK : measured_step_fail(run, status, run->scenario_host, where);
}

pd_status measured_step_run(run_state *run, const pd_step *step, int64_t *start_ns, int64_t *end_ns,
                            recorder_step *marks) {
  static pd_site site = PD_SITE("train_step", PD_RANGE_USER);
  step_events *own = step_times_events(run, step_log_count(run->log));
  pd_status status = run->sync_timing ? measured_step_wait(run) : step_times_mark(run, &own->start);
  if (status != PD_OK) return measured_step_fail(run, status, run->device_host, "device");
  *start_ns = monotonic_ns();
  marks->train_start_ticks = run->record->ticks(run->record);
  const bool begun = pd_range_begin(run->record, &site, NULL);
  status = run->scenario->step(run->scenario_state, step);
  pd_range_end(run->record, begun);
  if (status != PD_OK) {
    run->stopped = status == PD_STOP;
    if (run->stopped) return status;
    char where[128];
    snprintf(where, sizeof where, "scenario %s: %s %llu", run->scenario_name,
             step->phase == PD_PHASE_WARMUP_STEPS ? "warm-up step" : "step", (unsigned long long)step->index);
    return measured_step_fail(run, status, run->scenario_host, where);
  }
  status = run->sync_timing ? measured_step_wait(run) : step_times_mark(run, &own->end);
  *end_ns = monotonic_ns();
  marks->train_end_ticks = run->record->ticks(run->record);
  if (status != PD_OK) return measured_step_fail(run, status, run->device_host, "device");
  return PD_OK;
}
