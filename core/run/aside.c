/* See aside.h. */
#include "aside.h"

#include "board.h"
#include "measured_step.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"

#include <math.h>

static pd_status one_aside(run_state *run, uint64_t index, bool control, bool typical) {
  board_next();
  const pd_batch *batch = NULL;
  const pd_status status = data_loader_next(run->loader, &batch);
  const int64_t batch_ns = monotonic_ns();
  if (status == PD_STOP) return status;
  if (status != PD_OK) return measured_step_fail(run, status, run->core_host, "data loader");
  const pd_step step = {.size = sizeof step,
                        .phase = PD_PHASE_WARMUP_STEPS,
                        .index = run->dialled && !control ? run->dialled_steps++ : index,
                        .batch = batch,
                        .control = control,
                        .dialled = run->dialled,
                        .amount = run->amount};
  recorder_step marks = {0};
  pd_batch next;
  int64_t start_ns = 0, end_ns = 0;
  measured_step_offer(run, &next);
  const pd_status done = measured_step_run(run, &step, &start_ns, &end_ns, &marks);
  if (done == PD_OK && run->sync_timing && typical && index > 1) unprofiled_add(&run->unprofiled, end_ns - batch_ns);
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

static pd_status begin(run_state *run) {
  truth_step_begin(run->truth, PD_PHASE_WARMUP_STEPS);
  const pd_status status = data_loader_iter_begin(run->loader);
  if (status != PD_OK) return measured_step_fail(run, status, run->core_host, "data loader");
  board_enter("scenario", run->scenario_name, "a step before the scheduled ones");
  return PD_OK;
}

static pd_status end(run_state *run, pd_status status) {
  board_leave();
  const pd_status ended = measured_step_end_iterator(run);
  if (status == PD_OK) status = ended;
  if (status == PD_OK || status == PD_STOP) status = forget_losses(run);
  return status == PD_OK && run->stopped ? PD_STOP : status;
}

/* What the clock says when all work is done. */
static pd_status settled(run_state *run, int64_t *now_ns) {
  const pd_status status = measured_step_wait(run);
  *now_ns = monotonic_ns();
  return status == PD_OK ? PD_OK : measured_step_fail(run, status, run->device_host, "device");
}

/* Whether those that were timed have a mean: all of them, or as many as the data had where that will do. */
static bool has_mean(const aside *self, uint64_t timed, pd_status status) {
  if (status == PD_STOP) return self->may_end && timed >= UNPROFILED_LEAST;
  return status == PD_OK && timed && timed == self->timed;
}

pd_status aside_steps(run_state *run, aside *self) {
  int64_t from_ns = 0, to_ns = 0;
  uint64_t timed = 0;
  self->mean_ns = NAN;
  if (self->steps == 0) return PD_OK;
  pd_status status = begin(run);
  if (status != PD_OK) return status;
  for (uint64_t done = 0; done < self->steps && status == PD_OK && !signals_pending(); done++) {
    const bool is_timed = done >= self->steps - self->timed;
    if (is_timed && !timed) status = settled(run, &from_ns);
    if (status == PD_OK) status = one_aside(run, done, self->control, self->typical);
    timed += is_timed && status == PD_OK;
  }
  if (has_mean(self, timed, status)) {
    const pd_status waited = settled(run, &to_ns);
    if (waited == PD_OK) self->mean_ns = (double)(to_ns - from_ns) / (double)timed;
    if (waited != PD_OK) status = waited;
  }
  return end(run, status);
}

/* What the next steps inject on average. Steps have whole counts (pd_kit_count). */
static double amount_of(const run_state *run, uint64_t steps) {
  const double from = (double)run->dialled_steps, to = from + (double)steps;
  if (!run->dialled_count) return run->amount;
  return (floor(run->amount * to) - floor(run->amount * from)) / (double)steps;
}

/* Steps of one kind; the pair gets the mean of the last `timed` ones. */
static pd_status turn(run_state *run, uint64_t settle, uint64_t timed, bool control, uint64_t *index,
                      truth_block_pair *pair) {
  int64_t from_ns = 0, to_ns = 0;
  pd_status status = PD_OK;
  for (uint64_t i = 0; i < settle + timed && status == PD_OK; i++) {
    if (i == settle) status = settled(run, &from_ns);
    if (i == settle && !control) pair->amount = amount_of(run, timed);
    if (status == PD_OK) status = signals_pending() ? PD_STOP : one_aside(run, (*index)++, control, false);
  }
  if (status == PD_OK) status = settled(run, &to_ns);
  *(control ? &pair->without_ns : &pair->with_ns) = (double)(to_ns - from_ns) / (double)timed;
  return status;
}

/* Steps that are not waited for reach their pace after some of them, and are timed together. */
static uint64_t turn_settle(const run_state *run) { return run->sync_timing ? 0 : 2; }
static uint64_t turn_timed(const run_state *run, uint64_t timed) {
  enum { TOGETHER = 4 };
  return run->sync_timing ? 1 : timed < TOGETHER ? timed : TOGETHER;
}

static uint64_t pairs_of(const run_state *run, uint64_t timed) {
  const uint64_t each = turn_timed(run, timed), pairs = (timed + each - 1) / each;
  return pairs < ASIDE_PAIRS_MOST ? pairs : ASIDE_PAIRS_MOST;
}

pd_status aside_turns_run(run_state *run, aside_turns *self) {
  const uint64_t settle = turn_settle(run), timed = turn_timed(run, self->timed), pairs = pairs_of(run, self->timed);
  uint64_t index = 0;
  self->count = 0;
  pd_status status = begin(run);
  if (status != PD_OK) return status;
  for (uint64_t i = 0; i < aside_to_settle(run) && status == PD_OK; i++) status = one_aside(run, index++, false, false);
  for (uint64_t i = 0; i < pairs && status == PD_OK; i++) {
    truth_block_pair *pair = &self->pairs[i];
    const bool control = i % 2; /* the first of the pair: what drifts hits both alike */
    status = turn(run, settle, timed, control, &index, pair);
    if (status != PD_OK) break;
    status = turn(run, settle, timed, !control, &index, pair);
  }
  if (status == PD_OK) self->count = pairs;
  return end(run, status);
}

uint64_t aside_to_settle(const run_state *run) { return 2 + data_loader_ahead(run->loader); }
