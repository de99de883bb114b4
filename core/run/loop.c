/* The training loop; see loop.h. What is not part of a step happens between steps, and then the clock of the next wait
 * starts after it. */
#include "loop.h"

#include "board.h"
#include "run_capture.h"
#include "run_window.h"
#include "step_times.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t realtime_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Keeps the cause of the first failure: `host`'s last message, or the status's own text. */
static pd_status fail(run_state *run, pd_status status, service_host *host, const char *where) {
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

uint64_t loop_planned_steps(const run_state *run) {
  const uint64_t total = schedule_total(&run->plan);
  if (run->max_steps && run->max_steps < total) return run->max_steps;
  return total == SCHEDULE_FOREVER ? 0 : total;
}

static pd_status synchronize(run_state *run) { return run->device_ops->stream->device_synchronize(run->access.device); }

/* The next step's iteration begins at the end of the step before, or here where something was done since. */
static pd_status begin_iteration(run_state *run, bool restarts) {
  step_events *own = step_times_events(run, step_log_count(run->log));
  own->restarts = restarts;
  if (run->sync_timing || !restarts) return PD_OK;
  const pd_status status = step_times_mark(run, &own->restart);
  return status == PD_OK ? status : fail(run, status, run->device_host, "device");
}

/* Lets the training kit copy the batch after this one beside the step's work, where there is one and it is wanted. */
static void offer_next(run_state *run, pd_batch *next) {
  if (run->prefetch_to_device) train_kit_offer_next(run->kit, data_loader_peek(run->loader, next) ? next : NULL);
}

/* No copy is on its way to the device when the loader takes its buffers back. */
static pd_status end_iterator(run_state *run) {
  const pd_status status = run->prefetch_to_device ? train_kit_forget_next(run->kit) : PD_OK;
  data_loader_iter_end(run->loader);
  return status == PD_OK ? status : fail(run, status, run->core_host, "training kit");
}

/* One call of the scenario's step inside its range, between two synchronisations or two events. */
static pd_status measured_step(run_state *run, const pd_step *step, int64_t *start_ns, int64_t *end_ns,
                               recorder_step *marks) {
  static pd_site site = PD_SITE("train_step", PD_RANGE_USER);
  step_events *own = step_times_events(run, step_log_count(run->log));
  pd_status status = run->sync_timing ? synchronize(run) : step_times_mark(run, &own->start);
  if (status != PD_OK) return fail(run, status, run->device_host, "device");
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
    return fail(run, status, run->scenario_host, where);
  }
  status = run->sync_timing ? synchronize(run) : step_times_mark(run, &own->end);
  *end_ns = monotonic_ns();
  marks->train_end_ticks = run->record->ticks(run->record);
  if (status != PD_OK) return fail(run, status, run->device_host, "device");
  return PD_OK;
}

/* Steps that no output shows, on an iterator of their own. */
typedef struct aside {
  uint64_t steps, timed; /* timed: how many of the last ones */
  bool control;          /* without what the scenario injects */
  bool typical;          /* from the third on like the scheduled steps, but without a profiler */
  double mean_ns;        /* of a timed one, its wait for data included; NaN: the data ended before */
} aside;

static pd_status one_aside(run_state *run, const aside *self, uint64_t index) {
  const pd_batch *batch = NULL;
  const pd_status status = data_loader_next(run->loader, &batch);
  if (status == PD_STOP) return status;
  if (status != PD_OK) return fail(run, status, run->core_host, "data loader");
  const pd_step step = {
      .size = sizeof step, .phase = PD_PHASE_WARMUP_STEPS, .index = index, .batch = batch, .control = self->control};
  recorder_step marks = {0};
  pd_batch next;
  int64_t start_ns = 0, end_ns = 0;
  offer_next(run, &next);
  const pd_status done = measured_step(run, &step, &start_ns, &end_ns, &marks);
  if (done == PD_OK && run->sync_timing && self->typical && index > 1)
    unprofiled_add(&run->unprofiled, end_ns - start_ns);
  progress_step();
  return done;
}

static pd_status forget_losses(run_state *run) {
  double ignored[64];
  uint64_t count = 0;
  const pd_status status = synchronize(run);
  if (status != PD_OK) return fail(run, status, run->device_host, "device");
  do {
    if (!run->kit || train_kit_losses(run->kit, ignored, 64, &count) != PD_OK) break;
  } while (count == 64);
  return PD_OK;
}

/* PD_STOP: the scenario asked for the end of the run. The end of the data ends these steps alone. */
static pd_status steps_aside(run_state *run, aside *self) {
  int64_t from_ns = 0;
  uint64_t done = 0;
  self->mean_ns = NAN;
  if (self->steps == 0) return PD_OK;
  truth_step_begin(run->truth, PD_PHASE_WARMUP_STEPS);
  pd_status status = data_loader_iter_begin(run->loader);
  if (status != PD_OK) return fail(run, status, run->core_host, "data loader");
  board_enter("scenario", run->scenario_name, "a step before the scheduled ones");
  for (; done < self->steps && status == PD_OK && !signals_pending(); done++) {
    if (done == self->steps - self->timed) {
      status = synchronize(run);
      from_ns = monotonic_ns();
      if (status != PD_OK) return fail(run, status, run->device_host, "device");
    }
    status = one_aside(run, self, done);
  }
  board_leave();
  if (status == PD_OK && self->timed && done == self->steps) {
    status = synchronize(run);
    if (status == PD_OK) self->mean_ns = (double)(monotonic_ns() - from_ns) / (double)self->timed;
  }
  const pd_status ended = end_iterator(run);
  if (status == PD_OK) status = ended;
  if (status == PD_OK || status == PD_STOP) status = forget_losses(run);
  return status == PD_OK && run->stopped ? PD_STOP : status;
}

static pd_status warm_up(run_state *run) {
  aside steps = {.steps = run->warmup_steps, .typical = true};
  progress_enter("warming up", "step", run->warmup_steps);
  return steps_aside(run, &steps);
}

/* Enough for the loader to be in its stride. */
static uint64_t steps_to_settle(const run_state *run) { return 2 + data_loader_ahead(run->loader); }

/* What a block of steps goes without. */
enum { BLOCK_WHOLE, BLOCK_CONTROL, BLOCK_PLAIN_LOADER, BLOCK_KINDS };

static bool is_input(const run_state *run) {
  return run->scenario->bottleneck && strcmp(run->scenario->bottleneck, "input_bound") == 0;
}

/* A loader that is the injection has to go without it in control steps, too. */
static pd_status truth_block(run_state *run, int kind, double *mean_ns) {
  const bool control = kind == BLOCK_CONTROL;
  aside steps = {.steps = steps_to_settle(run) + run->truth_block, .timed = run->truth_block, .control = control};
  data_loader_inject(run->loader, !(kind == BLOCK_PLAIN_LOADER || (control && is_input(run))));
  const pd_status status = steps_aside(run, &steps);
  data_loader_inject(run->loader, true);
  *mean_ns = steps.mean_ns;
  return status;
}

/* Blocks of a round, each kind once, forwards and backwards in turn. */
static pd_status truth_blocks(run_state *run, uint64_t round, int kinds, double *mean_ns) {
  pd_status status = PD_OK;
  for (int i = 0; i < kinds && status == PD_OK; i++) {
    const int kind = round % 2 ? kinds - 1 - i : i;
    status = truth_block(run, kind, &mean_ns[kind]);
    if (status == PD_OK && isnan(mean_ns[kind])) status = PD_STOP;
  }
  return status;
}

/* The injection's effect on the step: blocks with it and without it in turn, the order changing from round to round, so
 * that what drifts with time hits all alike; with a loader that injects beside the scenario, without either. Outside
 * the profiler. */
static pd_status interleave(run_state *run) {
  const int kinds = !is_input(run) && data_loader_is_dialled(run->loader) ? BLOCK_KINDS : BLOCK_PLAIN_LOADER;
  pd_status status = PD_OK;
  if (run->truth_rounds)
    progress_enter("measuring what the injection costs", "step",
                   run->truth_rounds * (uint64_t)kinds * (steps_to_settle(run) + run->truth_block));
  for (uint64_t round = 0; round < run->truth_rounds && status == PD_OK && !signals_pending(); round++) {
    double ns[BLOCK_KINDS];
    status = truth_blocks(run, round, kinds, ns);
    if (status == PD_STOP && !run->stopped) return PD_OK; /* the data ended */
    if (status == PD_OK) status = truth_round(run->truth, ns[BLOCK_WHOLE], ns[BLOCK_CONTROL]);
    if (status == PD_OK && kinds == BLOCK_KINDS)
      status = truth_round_input(run->truth, ns[BLOCK_WHOLE], ns[BLOCK_PLAIN_LOADER]);
  }
  return status;
}

/* Between steps and outside windows: hand over what is complete. */
static void between_steps(run_state *run, bool *worked) {
  if (run->in_window) return;
  if (step_log_count(run->log) - run->delivered < run->deliver_every) return;
  step_times_settle(run);
  step_times_deliver(run);
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
  status = end_iterator(run);
  if (status == PD_OK) status = data_loader_iter_begin(run->loader);
  return status == PD_OK ? data_loader_next(run->loader, batch) : status;
}

static pd_status one_step(run_state *run, uint64_t index, const schedule_at *at, int64_t *previous_end_ns,
                          uint64_t *previous_end_ticks) {
  const pd_record *record = run->record;
  recorder_step marks = {.number = index};
  marks.start_ticks = at->phase == PD_PHASE_ACTIVE && !at->active_first ? *previous_end_ticks : record->ticks(record);
  bool open = false;
  if (run->in_window && pd_record_on(record)) {
    char name[40];
    snprintf(name, sizeof name, "ProfilerStep#%llu", (unsigned long long)index);
    record->begin(record, record->intern(record, name), PD_RANGE_STEP, NULL);
    open = true;
  }
  const pd_batch *batch = NULL;
  pd_status status = next_batch(run, &batch);
  const int64_t batch_ns = monotonic_ns();
  int64_t start_ns = 0, end_ns = 0;
  if (status == PD_OK) {
    const pd_step step = {.size = sizeof step, .phase = at->phase, .index = index, .batch = batch};
    pd_batch next;
    int64_t asked_ns, dialled_ns;
    offer_next(run, &next);
    truth_step_begin(run->truth, at->phase);
    data_loader_dialled(run->loader, &asked_ns, &dialled_ns);
    truth_step_loaded(run->truth, asked_ns, dialled_ns);
    status = measured_step(run, &step, &start_ns, &end_ns, &marks);
  } else if (status != PD_STOP) {
    fail(run, status, run->core_host, "data loader");
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
                         .end_realtime_ns = realtime_ns()};
  uint64_t peak;
  status = run->device_ops->memory->usage(run->access.device, &stats.allocated_bytes, &stats.reserved_bytes, &peak);
  if (status == PD_OK) status = step_log_add(run->log, &stats);
  board_add_step(&stats);
  if (status == PD_OK) status = truth_step(run->truth, &stats);
  if (status == PD_OK && at->phase == PD_PHASE_ACTIVE) status = window_step_done(run, &marks);
  if (status != PD_OK) return fail(run, status, run->device_host, "run");
  if (run->sync_timing) run->timed = step_log_count(run->log);
  if (run->sync_timing && !run->attached) unprofiled_add(&run->unprofiled, marks.step_time_ns);
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
    count = plan->active;
  else if (at->phase == PD_PHASE_WARMUP)
    count = plan->warmup;
  else if (at->phase == PD_PHASE_WAIT)
    count = plan->wait;
  else if (index < plan->skip_first)
    count = plan->skip_first - index;
  return count < left ? count : left;
}

/* Tells what the steps from here on are for; returns the first step of the next phase. */
static uint64_t enter_phase(const run_state *run, uint64_t index, uint64_t planned, const schedule_at *at) {
  const uint64_t count = steps_alike(run, index, planned, at);
  const char *name = run->timer_only                ? "timing"
                     : at->phase == PD_PHASE_ACTIVE ? "recording"
                     : at->phase == PD_PHASE_WARMUP ? "warming the profiler up"
                                                    : "not recording";
  progress_enter(name, "step", count == SCHEDULE_FOREVER ? 0 : count);
  return count == SCHEDULE_FOREVER ? count : index + count;
}

static pd_status scheduled_steps(run_state *run) {
  const uint64_t planned = loop_planned_steps(run);
  pd_status status = data_loader_iter_begin(run->loader);
  if (status != PD_OK) return fail(run, status, run->core_host, "data loader");
  int64_t previous_end_ns = monotonic_ns();
  uint64_t previous_end_ticks = 0;
  uint64_t phase_end = 0;
  bool worked = true;
  for (uint64_t index = 0; (!planned || index < planned) && !signals_pending(); index++) {
    const schedule_at at = schedule_step(&run->plan, index);
    status = window_before_step(run, &at, &worked);
    if (status != PD_OK) {
      fail(run, status, run->device_host, "profiler");
      break;
    }
    if (index == phase_end) phase_end = enter_phase(run, index, planned, &at);
    if (worked) previous_end_ns = monotonic_ns();
    status = begin_iteration(run, worked);
    if (status != PD_OK) break;
    worked = false;
    board_step(board_own(), index, previous_end_ns);
    status = one_step(run, index, &at, &previous_end_ns, &previous_end_ticks);
    board_step_done(board_own());
    if (status != PD_OK) break;
    progress_step();
    /* Events are a ring, and a step's iteration begins at the one before; a device that far behind is waited for. */
    status = step_times_read(run, RUN_STEP_EVENTS - 2);
    if (status != PD_OK) {
      fail(run, status, run->device_host, "device");
      break;
    }
    if (at.active_last) {
      status = window_finish(run, true);
      worked = true;
      if (status != PD_OK) {
        fail(run, status, run->device_host, "profiler");
        break;
      }
    }
    between_steps(run, &worked);
    keep_losses(run, &worked);
  }
  run->data_ended = planned && status == PD_STOP && !run->stopped && !signals_pending();
  const pd_status ended = end_iterator(run);
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
  run->loss_scale = run->amp ? 65536 : 1;
  if (run->watch) guard_begin(run->watch);
  pd_status status = warm_up(run);
  if (status == PD_OK && !signals_pending()) status = interleave(run);
  if (status == PD_OK && !signals_pending()) status = scheduled_steps(run);
  if (status == PD_STOP) status = PD_OK;
  /* A window that the end of the data, a signal or a failure cut short is still a window. */
  const pd_status finished = window_finish(run, loop_records_all(run) && !signals_pending() && run->failed == PD_OK);
  if (status == PD_OK && finished != PD_OK) status = fail(run, finished, run->device_host, "profiler");
  window_detach(run);
  step_times_settle(run);
  step_times_deliver(run);
  tell_disturbances(run);
  return run->failed != PD_OK ? run->failed : status;
}
