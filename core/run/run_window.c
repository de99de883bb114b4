/* Active windows; see run_window.h. The profiling library is not loaded before the first warm-up step of the first
 * window, so that the steps before it cost what they cost without a profiler. */
#include "run_window.h"

#include "board.h"
#include "step_times.h"
#include "run_capture.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "data/dataset.h"

#include "heartbeat.h"
#include "manifest/manifest.h"
#include "ranks/rank_live.h"

#include <pdhost/array.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Long enough for a device that still works through a full queue; what is missing then is counted in the trace. */
#define DRAIN_TIMEOUT_NS 10000000000

static pd_status attach(run_state *run) {
  const pd_profile_ops *profile = run->device_ops->profile;
  if (!run->attached) {
    const pd_status status = profile->attach(run->access.device, &run->profile_options);
    if (status != PD_OK) return status;
    run->attached = true;
    /* Again: the profiling library's version is known only now. */
    (void)run->device_ops->props(run->access.device, &run->props);
  }
  if (run->started) return PD_OK;
  const pd_status status = profile->start(run->access.device);
  if (status != PD_OK) return status;
  run->started = true;
  recorder_enable(run->recorder, true);
  return PD_OK;
}

/* The training kit's images, float32, and labels, int64, where a resident batch or one copied ahead lies elsewhere than
 * a graph reads. */
static uint64_t graph_input_bytes(const run_state *run) {
  const data_config *data = &run->settings->data;
  const bool is_ahead = run->prefetch_to_device && (data->num_workers > 0 || data->resident != DATA_RESIDENT_NONE),
             is_elsewhere = data->resident == DATA_RESIDENT_DEVICE || is_ahead;
  if (!(run->offers & (PD_OFFER_CUDA_GRAPH | PD_OFFER_UNREAD_GRAPH)) || !is_elsewhere) return 0;
  const uint64_t image = DATASET_CHANNELS * (uint64_t)data->image_size * (uint64_t)data->image_size;
  return (uint64_t)data->batch_size * (image * sizeof(float) + sizeof(int64_t));
}

/* What its end will say of it, as far as that is known; whoever sees this process die says it then. */
static void tell_board(run_state *run) {
  pd_profile_status profile = {.size = sizeof profile};
  if (run->device_ops->profile->status(run->access.device, &profile) != PD_OK)
    profile = (pd_profile_status){.mode = PD_PROFILE_NONE, .note = "the profiler did not say what it records"};
  board_window_begin(&(recorder_window){.profile = profile.mode,
                                        .sync_timing = run->sync_timing,
                                        .profile_note = profile.note,
                                        .start_allocated_bytes = run->window_allocated_bytes,
                                        .start_reserved_bytes = run->window_reserved_bytes,
                                        .unprofiled_step_ns = unprofiled_step(&run->unprofiled),
                                        .copies_ahead = run->prefetch_to_device,
                                        .paused_ns = run->pause.window_ns,
                                        .graph_input_bytes = graph_input_bytes(run)});
}

/* Stops recording, and waits for the device records of what was. */
static pd_status stop_recording(run_state *run) {
  const pd_profile_ops *profile = run->device_ops->profile;
  const pd_status stopped = profile->stop(run->access.device);
  recorder_enable(run->recorder, false);
  run->started = false;
  const pd_status drained = profile->drain(run->access.device, DRAIN_TIMEOUT_NS);
  return stopped == PD_OK ? drained : stopped;
}

/* Steps of a window's twin come, or are over. */
static pd_status turn_off_or_on(run_state *run, const schedule_at *at, bool *worked) {
  if (at->off && run->started) {
    *worked = true;
    const pd_status status = stop_recording(run);
    if (status == PD_OK && run->in_window) analysis_window_pause(run->analysis);
    return status;
  }
  if (!at->on || run->started) return PD_OK;
  *worked = true;
  return attach(run);
}

pd_status window_before_step(run_state *run, const schedule_at *at, bool *worked) {
  if (run->timer_only || at->window == PD_NONE) return PD_OK;
  const pd_status turned = turn_off_or_on(run, at, worked);
  if (turned != PD_OK) return turned;
  if (at->warmup_first || (at->active_first && !run->started)) {
    *worked = true;
    const pd_status status = attach(run);
    if (status != PD_OK) return status;
  }
  if (at->active_first) {
    *worked = true;
    const pd_status status = recorder_window_begin(run->recorder, at->window);
    if (status != PD_OK) return status;
    analysis_window_begin(run->analysis);
    uint64_t peak;
    const pd_status asked = run->device_ops->memory->usage(run->access.device, &run->window_allocated_bytes,
                                                           &run->window_reserved_bytes, &peak);
    if (asked != PD_OK) return asked;
    unprofiled_twin_begin(&run->unprofiled);
    run->pause.window_ns = run->pause.unshown_ns;
    run->pause.unshown_ns = 0;
    tell_board(run);
    run->window_stopped_s = heartbeat_stopped_s();
    run->in_window = true;
    run->was_split = false;
    run->window_step_most = 0;
    run->window_used = recorder_used(run->recorder);
    run->window = at->window;
    run->window_count = 0;
  }
  if (!at->goes_on || !run->in_window) return PD_OK;
  *worked = true;
  analysis_window_resume(run->analysis);
  return PD_OK;
}

pd_status window_step_done(run_state *run, const recorder_step *step) {
  if (!run->in_window) return PD_OK;
  if (!PD_ARRAY_FIT(run->window_steps, run->window_room, run->window_count + 1)) return PD_NO_MEMORY;
  run->window_steps[run->window_count++] = *step;
  board_window_step(step);
  return PD_OK;
}

static void count_coverage(run_state *run, const pd_trace *trace) {
  for (uint64_t i = 0; i < trace->steps.count; i++) {
    const pd_trace_step *step = PD_AT(pd_trace_step, &trace->steps, i);
    run->coverage_launches += (double)step->launches;
    run->coverage_matched += (double)step->matched;
  }
  for (int i = 0; i < 16; i++) run->lost[i] += trace->losses[i];
}

static void tell_silence(run_state *run, const pd_trace *trace) {
  if (trace->profile != PD_PROFILE_FULL || !isnan(pd_trace_coverage(trace))) return;
  run->silent = true;
  log_line(
      PD_LOG_WARN, NULL,
      "window %u: operations ran on the device and not one launch of theirs was recorded: the profiling library is "
      "silent, coverage is n/a and nothing is known of the device",
      trace->window);
}

/* As long as a short kernel: how far the device is behind the host's calls is then no longer known well. */
#define CORRECTED_MUCH_NS 5000

static void tell_correction(run_state *run, const pd_trace *trace) {
  if (!trace->corrected_ns) return;
  if (trace->corrected_ns > run->corrected_ns) run->corrected_ns = trace->corrected_ns;
  log_line(trace->corrected_ns > CORRECTED_MUCH_NS ? PD_LOG_WARN : PD_LOG_INFO, NULL,
           "window %u: %llu device records are moved behind their launches, by up to %.3f us: the device's clock was "
           "early",
           trace->window, (unsigned long long)trace->losses[PD_LOSS_TIME_CORRECTED],
           (double)trace->corrected_ns * 1e-3);
}

typedef struct ending {
  run_state *run;
  bool whole;
} ending;

/* The records are in the capture: the sinks may have them while they are merged here. */
static bool pass_window(void *user) {
  const ending *self = user;
  return run_capture_window(self->run, !self->whole);
}

/* A window of no step reaches no sink, but after a failure it shows what the failed step had done. */
static bool is_shown(const run_state *run) { return run->window_count || run->failed != PD_OK; }

/* Merges the window's records into a trace; its steps' times and losses are known by now. */
static pd_status make_trace(run_state *run, bool whole, pd_trace **trace) {
  ending self = {run, whole};
  double *losses = malloc((run->window_count ? run->window_count : 1) * sizeof *losses);
  pd_twin twin;
  pd_status status = unprofiled_twin_cost(&run->unprofiled, &twin) ? PD_OK : PD_NO_MEMORY;
  if (!losses) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < run->window_count && status == PD_OK; i++) {
    const pd_step_stats *stats = step_log_at(run->log, run->window_steps[i].number);
    losses[i] = stats->loss;
    run->window_steps[i].step_time_ns = stats->step_time_ns;
    status = recorder_step_done(run->recorder, &run->window_steps[i]);
  }
  run->profile = (pd_profile_status){.size = sizeof run->profile};
  if (status == PD_OK) status = run->device_ops->profile->status(run->access.device, &run->profile);
  if (status == PD_OK) {
    const recorder_window window = {.profile = run->profile.mode,
                                    .sync_timing = run->sync_timing,
                                    .profile_note = run->profile.note,
                                    .device = &run->props,
                                    .losses = losses,
                                    .start_allocated_bytes = run->window_allocated_bytes,
                                    .start_reserved_bytes = run->window_reserved_bytes,
                                    .unprofiled_step_ns = unprofiled_step(&run->unprofiled),
                                    .twin = twin,
                                    .copies_ahead = run->prefetch_to_device,
                                    .paused_ns = run->pause.window_ns,
                                    .graph_input_bytes = graph_input_bytes(run),
                                    .saved = pass_window,
                                    .user = &self};
    if (!is_shown(run)) recorder_save_to(run->recorder, NULL);
    status = recorder_window_end(run->recorder, &window, trace);
    run_capture_again(run);
  }
  free(losses);
  if (*trace && run->ranks) {
    (*trace)->rank = rank_group_rank(run->ranks);
    (*trace)->ranks = rank_group_count(run->ranks);
  }
  return status;
}

/* The confidence of a verdict is of the steps as they were: what lengthened them all alike does not lower it. */
static void tell_verdict(run_state *run) {
  guard_facts facts;
  char text[256], stopped[256];
  if (!run->watch) return;
  guard_so_far(run->watch, &facts);
  const bool taken = guard_tells_taken_cores(&facts, text, sizeof text);
  facts.stopped_s = heartbeat_stopped_s() - run->window_stopped_s;
  const bool stood = guard_tells_stop(&facts, stopped, sizeof stopped);
  analysis_disturbed(run->analysis, taken ? text : NULL, stood ? stopped : NULL);
}

pd_status window_finish(run_state *run, bool whole) {
  pd_status status = run->started ? stop_recording(run) : PD_OK;
  if (!run->in_window) return status;
  run->in_window = false;
  progress_enter("writing what was recorded", NULL, 0);
  tell_verdict(run);
  analysis_window_end(run->analysis);
  step_times_settle(run);
  step_times_deliver(run); /* first, so that a sink that flushes with the window has written its steps */
  pd_trace *trace = NULL;
  const pd_profile_status before = run->profile;
  const pd_status made = make_trace(run, whole, &trace);
  if (status == PD_OK) status = made;
  if (trace && !is_shown(run)) {
    run->profile = before;
    trace_free(trace);
  } else if (trace) {
    trace->partial = !whole;
    count_coverage(run, trace);
    tell_silence(run, trace);
    tell_correction(run, trace);
    if (run->live) (void)rank_live_add(run->live, trace); /* without it the summary is withheld */
    manifest_window(run->manifest, trace);
    if (run->sinks) sink_set_trace(run->sinks, trace);
    run_capture_wait(run);
    analysis_forget(run->analysis, trace);
    trace_free(trace);
    run->windows_done++;
  }
  return status;
}

void window_place(const run_state *run, schedule_at *at) {
  if (run->pause.on) *at = (schedule_at){.phase = PD_PHASE_PAUSED, .window = PD_NONE};
  if (at->window == PD_NONE) return;
  at->window += run->splits;
  if (run->was_split && at->phase == PD_PHASE_ACTIVE) at->active_first = true;
}

/* What arrives when the window ends has room, too. */
static bool is_full(run_state *run) {
  const double before = run->window_used, most_used = 0.875;
  run->window_used = recorder_used(run->recorder);
  double step = run->window_used - before;
  /* The first step may have made the threads' lists, which the others use; it counts as long as there are none. */
  if (run->window_count > 1 && step > run->window_step_most) run->window_step_most = step;
  if (run->window_count > 1) step = run->window_step_most;
  return run->window_used + 1.5 * step > most_used || run->window_count >= BOARD_STEPS;
}

pd_status window_split_full(run_state *run, bool *worked) {
  /* With several ranks, each would end it elsewhere. */
  if (!run->in_window || run->ranks || !is_full(run)) return PD_OK;
  run->splits++;
  if (!run->told_full) {
    run->told_full = true;
    char why[96] = "are as many as a window may have";
    if (run->window_count < BOARD_STEPS)
      (void)snprintf(why, sizeof why, "fill [profile] max_memory = %lld MiB",
                     (long long)(run->settings->profile.max_memory_bytes >> 20));
    log_line(PD_LOG_WARN, NULL,
             "window %u: the records of %llu steps %s: the window ends there, and the next step begins another one",
             run->window, (unsigned long long)run->window_count, why);
  }
  run->was_split = true;
  *worked = true;
  return window_finish(run, true);
}

static pd_status begin_pause(run_state *run, bool *worked) {
  run->pause.on = true;
  run->pause.since_ns = monotonic_ns();
  run->pause.count++;
  log_line(PD_LOG_INFO, NULL, "the recording is paused before step %llu", (unsigned long long)step_log_count(run->log));
  if (!run->started && !run->in_window) return PD_OK;
  *worked = true;
  if (run->in_window) {
    run->splits++;
    run->was_split = true;
  }
  return window_finish(run, true);
}

static void end_pause(run_state *run) {
  const int64_t paused_ns = monotonic_ns() - run->pause.since_ns;
  run->pause.on = false;
  run->pause.all_ns += paused_ns;
  if (run->was_split) run->pause.unshown_ns += paused_ns;
  log_line(PD_LOG_INFO, NULL, "the recording goes on before step %llu: it was paused for %.3f s",
           (unsigned long long)step_log_count(run->log), 1e-9 * (double)paused_ns);
}

pd_status window_pause(run_state *run, bool *worked) {
  const bool wanted = signals_paused();
  if (wanted && (run->ranks || run->timer_only)) {
    if (!run->pause.was_refused)
      log_line(PD_LOG_WARN, NULL, "the recording is not paused: %s",
               run->ranks ? "each of several ranks would do so at another step" : "nothing is recorded");
    run->pause.was_refused = true;
    return PD_OK;
  }
  if (wanted && !run->pause.on) return begin_pause(run, worked);
  if (!wanted && run->pause.on) end_pause(run);
  return PD_OK;
}

void window_detach(run_state *run) {
  if (!run->attached) return;
  run->attached = false;
  (void)run->device_ops->profile->detach(run->access.device);
}
