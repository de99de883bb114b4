/* The training loop; see loop.h. What is not part of a step happens between steps, and then the clock of the next wait
 * starts after it. */
#include "loop.h"

#include "aside.h"
#include "board.h"
#include "measured_step.h"
#include "ranks/rank_group.h"
#include "run_capture.h"
#include "run_window.h"
#include "series/series.h"
#include "step_times.h"
#include "truth/dial_run.h"
#include "truth/interleave.h"
#include "truth/truth_cures.h"
#include "writing/own_place.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"

#include <pdhost/clocks.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t loop_planned_steps(const run_state *run) {
  const uint64_t total = schedule_total(&run->plan);
  if (run->max_steps && run->max_steps < total) return run->max_steps;
  return total == SCHEDULE_FOREVER ? 0 : total;
}

/* The next step's iteration begins at the end of the step before, or here where something was done since. */
static pd_status begin_iteration(run_state *run, bool restarts) {
  step_events *own = step_times_events(run, step_log_count(run->log));
  own->restarts = restarts;
  if (run->sync_timing || !restarts) return PD_OK;
  const pd_status status = step_times_mark(run, &own->restart);
  return status == PD_OK ? status : measured_step_fail(run, status, run->device_host, "device");
}

/* In a loop that does not wait for its steps, one of them has no time of its own: those after the first few are timed
 * together. */
static pd_status warm_up(run_state *run) {
  const uint64_t settle = aside_to_settle(run);
  const bool paced = !run->sync_timing && run->warmup_steps >= settle + UNPROFILED_LEAST;
  aside steps = {
      .steps = run->warmup_steps, .timed = paced ? run->warmup_steps - settle : 0, .typical = true, .may_end = true};
  board_phase("warming up");
  progress_enter("warming up", "step", run->warmup_steps);
  const pd_status status = aside_steps(run, &steps);
  if (paced && !isnan(steps.mean_ns)) run->unprofiled.pace_ns = llround(steps.mean_ns);
  return status;
}

/* Between steps and outside windows: hand over what is complete. */
static void between_steps(run_state *run, bool *worked) {
  if (run->in_window) return;
  if (step_log_count(run->log) - run->delivered < run->deliver_every) return;
  step_times_settle(run);
  step_times_deliver(run);
  run_capture_pass(run);
  *worked = true;
}

/* A window may be longer than the kit keeps losses for. */
static void keep_losses(run_state *run, bool *worked) {
  if (step_log_count(run->log) - run->loss_known < TRAIN_LOSSES_KEPT) return;
  step_times_losses(run);
  *worked = true;
}

/* The next batch, of a new iterator where the one before is at its end and more epochs are to come. PD_STOP: the data
 * ends here. */
static pd_status next_batch(run_state *run, const pd_batch **batch) {
  pd_status status = data_loader_next(run->loader, batch);
  if (status != PD_STOP || signals_pending()) return status;
  if (++run->epochs_done == run->epochs) return PD_STOP;
  status = measured_step_end_iterator(run);
  if (status == PD_OK) status = data_loader_iter_begin(run->loader);
  return status == PD_OK ? data_loader_next(run->loader, batch) : status;
}

static pd_status one_step(run_state *run, uint64_t index, const schedule_at *at, int64_t *previous_end_ns,
                          uint64_t *previous_end_ticks) {
  const pd_record *record = run->record;
  recorder_step marks = {.number = index};
  const bool follows = at->phase == PD_PHASE_ACTIVE && !at->active_first && !at->goes_on;
  marks.start_ticks = follows ? *previous_end_ticks : record->ticks(record);
  bool open = false;
  if (run->in_window && pd_record_on(record)) {
    record->begin(record, recorder_step_name(index), PD_RANGE_STEP, NULL);
    open = true;
  }
  const pd_batch *batch = NULL;
  pd_status status = next_batch(run, &batch);
  const int64_t batch_ns = monotonic_ns();
  int64_t start_ns = 0, end_ns = 0;
  if (status == PD_OK) {
    const pd_step step = {.size = sizeof step,
                          .phase = at->phase,
                          .index = index,
                          .batch = batch,
                          .dialled = run->dialled,
                          .amount = run->amount};
    pd_batch next;
    int64_t asked_ns, dialled_ns;
    measured_step_offer(run, &next);
    truth_step_begin(run->truth, at->phase);
    data_loader_dialled(run->loader, &asked_ns, &dialled_ns);
    truth_step_loaded(run->truth, asked_ns, dialled_ns);
    status = measured_step_run(run, &step, &start_ns, &end_ns, &marks);
  } else if (status != PD_STOP) {
    measured_step_fail(run, status, run->core_host, "data loader");
  }
  pd_range_end(record, open);
  if (status != PD_OK) return status;
  marks.end_ticks = record->ticks(record);
  marks.data_wait_ns = batch_ns - *previous_end_ns;
  marks.step_time_ns = end_ns - start_ns;

  pd_step_stats stats = {.size = sizeof stats,
                         .phase = at->phase,
                         .index = index,
                         .window = at->phase == PD_PHASE_ACTIVE ? at->window : PD_NONE,
                         .data_wait_ns = marks.data_wait_ns,
                         .step_time_ns = marks.step_time_ns,
                         .batch_cost_ns = end_ns - *previous_end_ns,
                         .loss = NAN,
                         .loss_scale = run->loss_scale,
                         .end_realtime_ns = pd_clock_ns(CLOCK_REALTIME)};
  uint64_t peak;
  status = run->device_ops->memory->usage(run->access.device, &stats.allocated_bytes, &stats.reserved_bytes, &peak);
  if (status == PD_OK) status = step_log_add(run->log, &stats);
  board_add_step(&stats);
  if (status == PD_OK) status = truth_step(run->truth, &stats);
  if (status == PD_OK && at->phase == PD_PHASE_ACTIVE) status = window_step_done(run, &marks);
  if (status != PD_OK) return measured_step_fail(run, status, run->device_host, "run");
  if (run->sync_timing) run->timed = step_log_count(run->log);
  const int64_t fed_ns = end_ns - batch_ns;
  if (run->sync_timing && !run->attached) unprofiled_add(&run->unprofiled, fed_ns);
  if (at->in_round && !unprofiled_twin_add(&run->unprofiled, at->round, at->phase == PD_PHASE_ACTIVE, fed_ns))
    return measured_step_fail(run, PD_NO_MEMORY, run->core_host, "run");
  *previous_end_ns = end_ns;
  *previous_end_ticks = marks.end_ticks;
  return PD_OK;
}

/* How many steps from `index` on the schedule treats alike; `planned`: of the whole loop, 0: not known. */
static uint64_t steps_alike(const run_state *run, uint64_t index, uint64_t planned, const schedule_at *at) {
  const schedule *plan = &run->plan;
  const uint64_t left = planned ? planned - index : SCHEDULE_FOREVER;
  uint64_t count = left;
  if (run->timer_only) return left;
  if (at->phase == PD_PHASE_ACTIVE)
    count = schedule_window_length(plan);
  else if (at->phase == PD_PHASE_WARMUP)
    count = plan->warmup;
  else if (at->phase == PD_PHASE_WAIT)
    count = plan->wait;
  else if (index < plan->skip_first)
    count = plan->skip_first - index;
  return count < left ? count : left;
}

static const char *phase_name(const run_state *run, const schedule_at *at) {
  switch (at->phase) {
  case PD_PHASE_ACTIVE: return run->timer_only ? "timing" : "recording";
  case PD_PHASE_WARMUP: return run->timer_only ? "timing" : "warming the profiler up";
  case PD_PHASE_PAUSED: return "paused";
  default: return run->timer_only ? "timing" : "not recording";
  }
}

/* Tells what the steps from here on are for; returns the first step of the next phase. */
static uint64_t enter_phase(const run_state *run, uint64_t index, uint64_t planned, const schedule_at *at) {
  const uint64_t count = steps_alike(run, index, planned, at);
  progress_enter(phase_name(run, at), "step", count == SCHEDULE_FOREVER ? 0 : count);
  return count == SCHEDULE_FOREVER ? count : index + count;
}

/* A scenario without collectives would never learn of it. Why it was lost is reported at the end. */
static bool is_rank_lost(run_state *run) {
  char text[8];
  bool tells = false;
  if (!run->ranks || !rank_group_lost(run->ranks, text, sizeof text, &tells)) return false;
  run->failed = PD_DEVICE;
  return true;
}

static pd_status scheduled_steps(run_state *run) {
  const uint64_t planned = loop_planned_steps(run);
  board_phase("beginning with the data");
  pd_status status = data_loader_iter_begin(run->loader);
  board_phase(""); /* from here on its steps say what it does */
  if (status != PD_OK) return measured_step_fail(run, status, run->core_host, "data loader");
  if (run->watch) guard_energy_begin(run->watch, run->settings->profile.powercap_dir);
  if (run->settings->profile.series_every && !run->timer_only)
    run->series =
        series_begin(run->record, &(series_wish){.every_ms = (run->settings->profile.series_every + 999999) / 1000000,
                                                 .powercap = run->settings->profile.powercap_dir,
                                                 .loader_bytes = data_loader_bytes(run->loader),
                                                 .is_cuda = run->props.is_cuda,
                                                 .device_index = run->props.index});
  int64_t previous_end_ns = monotonic_ns();
  uint64_t previous_end_ticks = 0;
  uint64_t phase_end = 0;
  bool worked = true;
  for (uint64_t index = 0; (!planned || index - run->pause.steps < planned) && !signals_pending(); index++) {
    const uint64_t turn = index - run->pause.steps; /* of the schedule */
    const bool was_paused = run->pause.on;
    schedule_at at = schedule_step(&run->plan, turn);
    status = window_pause(run, &worked);
    window_place(run, &at);
    if (status == PD_OK) status = window_before_step(run, &at, &worked);
    if (status != PD_OK) {
      measured_step_fail(run, status, run->device_host, "profiler");
      break;
    }
    if (turn == phase_end && !run->pause.on)
      phase_end = enter_phase(run, turn, planned, &at);
    else if (at.active_first || was_paused != run->pause.on)
      progress_enter(phase_name(run, &at), "step",
                     phase_end == SCHEDULE_FOREVER || run->pause.on ? 0 : phase_end - turn);
    if (worked) previous_end_ns = monotonic_ns();
    status = is_rank_lost(run) ? PD_DEVICE : begin_iteration(run, worked);
    if (status != PD_OK) break;
    worked = false;
    board_step(board_own(), index, previous_end_ns);
    status = one_step(run, index, &at, &previous_end_ns, &previous_end_ticks);
    board_step_done(board_own());
    run->pause.steps += run->pause.on;
    if (status != PD_OK) break;
    progress_step();
    /* Events are a ring, and a step's iteration begins at the one before; a device that far behind is waited for. */
    status = step_times_read(run, RUN_STEP_EVENTS - 2);
    if (status != PD_OK) {
      measured_step_fail(run, status, run->device_host, "device");
      break;
    }
    if (at.window_last) {
      status = window_finish(run, true);
      worked = true;
    } else {
      status = window_split_full(run, &worked);
    }
    if (status != PD_OK) {
      measured_step_fail(run, status, run->device_host, "profiler");
      break;
    }
    between_steps(run, &worked);
    keep_losses(run, &worked);
  }
  if (run->watch && measured_step_wait(run) == PD_OK) {
    run->energy_j = guard_energy_j(run->watch);
    run->processor_energy_j = guard_processor_energy_j(run->watch);
  }
  series_end(run->series);
  run->series = NULL;
  run->data_ended = planned && status == PD_STOP && !run->stopped && !signals_pending();
  const pd_status ended = measured_step_end_iterator(run);
  return status == PD_STOP || status == PD_OK ? ended : status;
}

/* With `active = all` the end of the loop is the end of the window. */
static bool loop_records_all(const run_state *run) { return run->plan.active == SCHEDULE_FOREVER; }

/* What kept the steps from running as they would on a quiet machine. */
static void tell_disturbances(run_state *run) {
  guard_facts facts;
  char text[256];
  if (!run->watch) return;
  guard_end(run->watch, &facts);
  if (guard_tells_stop(&facts, text, sizeof text))
    log_line(PD_LOG_WARN, NULL, "%s: the steps it fell into took longer for that", text);
  if (guard_tells_taken_cores(&facts, text, sizeof text))
    log_line(PD_LOG_WARN, NULL, "%s: run it on a quiet machine", text);
}

pd_status loop_run(run_state *run) {
  run->loss_scale = 1;
  if (run->amp) (void)train_kit_loss_scale(run->kit, &run->loss_scale);
  if (run->watch) guard_begin(run->watch);
  pd_status status = warm_up(run);
  if (status == PD_OK && !signals_pending()) status = dial_run(run);
  if (status == PD_OK && !signals_pending()) status = interleave_run(run);
  if (status == PD_OK && !signals_pending()) status = truth_cures_run(run);
  if (status == PD_OK && !signals_pending()) status = scheduled_steps(run);
  if (status == PD_STOP) status = PD_OK;
  own_place_return(); /* a step may have changed it */
  /* A window that the end of the data, a signal or a failure cut short is still a window. */
  const pd_status finished = window_finish(run, loop_records_all(run) && !signals_pending() && run->failed == PD_OK);
  if (status == PD_OK && finished != PD_OK) status = measured_step_fail(run, finished, run->device_host, "profiler");
  window_detach(run);
  step_times_settle(run);
  step_times_deliver(run);
  tell_disturbances(run);
  return run->failed != PD_OK ? run->failed : status;
}
