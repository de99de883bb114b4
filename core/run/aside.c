/* See aside.h. */
#include "aside.h"

#include "board.h"
#include "measured_step.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"

#include <math.h>

static pd_status one_aside(run_state *run, const aside *self, uint64_t index) {
  const pd_batch *batch = NULL;
  const pd_status status = data_loader_next(run->loader, &batch);
  if (status == PD_STOP) return status;
  if (status != PD_OK) return measured_step_fail(run, status, run->core_host, "data loader");
  const pd_step step = {.size = sizeof step,
                        .phase = PD_PHASE_WARMUP_STEPS,
                        .index = index,
                        .batch = batch,
                        .control = self->control,
                        .dialled = run->dialled,
                        .amount = run->amount};
  recorder_step marks = {0};
  pd_batch next;
  int64_t start_ns = 0, end_ns = 0;
  measured_step_offer(run, &next);
  const pd_status done = measured_step_run(run, &step, &start_ns, &end_ns, &marks);
  if (done == PD_OK && run->sync_timing && self->typical && index > 1)
    unprofiled_add(&run->unprofiled, end_ns - start_ns);
  progress_step();
  return done;
}

static pd_status forget_losses(run_state *run) {
  double ignored[64];
  uint64_t count = 0;
  const pd_status status = measured_step_wait(run);
  if (status != PD_OK) return measured_step_fail(run, status, run->device_host, "device");
  do {
    if (!run->kit || train_kit_losses(run->kit, ignored, 64, &count) != PD_OK) break;
  } while (count == 64);
  return PD_OK;
}

pd_status aside_steps(run_state *run, aside *self) {
  int64_t from_ns = 0;
  uint64_t done = 0;
  self->mean_ns = NAN;
  if (self->steps == 0) return PD_OK;
  truth_step_begin(run->truth, PD_PHASE_WARMUP_STEPS);
  pd_status status = data_loader_iter_begin(run->loader);
  if (status != PD_OK) return measured_step_fail(run, status, run->core_host, "data loader");
  board_enter("scenario", run->scenario_name, "a step before the scheduled ones");
  for (; done < self->steps && status == PD_OK && !signals_pending(); done++) {
    if (done == self->steps - self->timed) {
      status = measured_step_wait(run);
      from_ns = monotonic_ns();
      if (status != PD_OK) return measured_step_fail(run, status, run->device_host, "device");
    }
    status = one_aside(run, self, done);
  }
  board_leave();
  if (status == PD_OK && self->timed && done == self->steps) {
    status = measured_step_wait(run);
    if (status == PD_OK) self->mean_ns = (double)(monotonic_ns() - from_ns) / (double)self->timed;
  }
  const pd_status ended = measured_step_end_iterator(run);
  if (status == PD_OK) status = ended;
  if (status == PD_OK || status == PD_STOP) status = forget_losses(run);
  return status == PD_OK && run->stopped ? PD_STOP : status;
}

uint64_t aside_to_settle(const run_state *run) { return 2 + data_loader_ahead(run->loader); }
