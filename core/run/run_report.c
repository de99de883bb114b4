/* What a run says of itself; see run_report.h. */
#include "run_report.h"

#include "loop.h"
#include "ranks/rank_group.h"
#include "abi/device_text.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/signals.h"
#include "base/version.h"
#include "config/config_presets.h"

#include <pdhost/clocks.h>

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void run_report_about(run_state *run, const config *settings, pd_run *about) {
  const pd_plugin *scenario = settings->scenario.plugin->table;
  if (gethostname(run->host_name, sizeof run->host_name) != 0) strcpy(run->host_name, "localhost");
  run->host_name[sizeof run->host_name - 1] = '\0';
  snprintf(run->worker, sizeof run->worker, "%s_%d", run->host_name, (int)getpid());
  *about = (pd_run){.size = sizeof *about,
                    .pid = (uint32_t)getpid(),
                    .start_realtime_ns = pd_clock_ns(CLOCK_REALTIME),
                    .scenario = scenario->name,
                    .scenario_version = scenario->version,
                    .bottleneck = scenario->ops.scenario->bottleneck,
                    .device_name = settings->device.plugin->table->name,
                    .pdhost_version = version_text(),
                    .command_line = settings->command_line ? settings->command_line : "",
                    .trace_dir = settings->run.trace_dir,
                    .worker = run->worker,
                    .host_name = run->host_name,
                    .device = &run->props,
                    .settings = {settings->settings, settings->setting_count, sizeof *settings->settings},
                    .seed = (uint64_t)settings->run.seed,
                    .batch_size = settings->data.batch_size,
                    .num_workers = settings->data.num_workers,
                    .image_size = settings->data.image_size,
                    .pin_memory = settings->data.pin_memory,
                    .amp = settings->train.amp,
                    .channels_last = settings->train.channels_last,
                    .sync_timing = run->sync_timing,
                    .total_steps = loop_planned_steps(run),
                    .skip_first = run->plan.skip_first,
                    .wait = run->plan.wait,
                    .warmup = run->plan.warmup,
                    .active = run->plan.active,
                    .repeat = run->plan.repeat,
                    .record_shapes = settings->profile.record_shapes,
                    .profile_memory = settings->profile.profile_memory,
                    .with_stack = settings->profile.with_stack,
                    .with_flops = settings->profile.with_flops,
                    .with_modules = settings->profile.with_modules,
                    .timer_only = run->timer_only,
                    .fallback = run->fallback[0] ? run->fallback : NULL,
                    .cures = PD_HAS(pd_scenario_ops, run->scenario, cures) ? run->scenario->cures : NULL,
                    .offers = run->offers,
                    .quiet = run->quiet,
                    .source_id = version_source_id(),
                    .ranks = 1};
  if (!run->ranks) return;
  about->rank = rank_group_rank(run->ranks);
  about->ranks = rank_group_count(run->ranks);
  about->backend = rank_group_backend(run->ranks);
}

void run_report_header(const run_state *run, const config *settings) {
  const schedule *plan = &run->plan;
  char active[24] = "all", device[512], presets[512], which[48] = "";
  if (plan->active != SCHEDULE_FOREVER) snprintf(active, sizeof active, "%llu", (unsigned long long)plan->active);
  const bool shown = !run->quiet;
  if (run->ranks)
    snprintf(which, sizeof which, ", rank %u of %u", rank_group_rank(run->ranks), rank_group_count(run->ranks));
  log_say(shown, "pdhost %s: %s%s on %s", version_text(), run->scenario_name, which,
          device_text(run->props.name, run->props.versions, device, sizeof device));
  log_say(shown,
          "pdhost: %llu warm-up steps, then skip_first %llu wait %llu warmup %llu active %s repeat %llu; batch %lld x "
          "3 x %lld x %lld",
          (unsigned long long)run->warmup_steps, (unsigned long long)plan->skip_first, (unsigned long long)plan->wait,
          (unsigned long long)plan->warmup, active, (unsigned long long)plan->repeat,
          (long long)settings->data.batch_size, (long long)settings->data.image_size,
          (long long)settings->data.image_size);
  if (config_presets_text(settings, presets, sizeof presets)[0])
    log_say(shown, "pdhost: sized for this device: %s; what you set wins", presets);
}

void run_report_shortfall(const run_state *run, const config *settings) {
  if (signals_pending())
    log_say(!run->quiet, "pdhost: %s: the run ends after %llu steps; its outputs are closed and marked",
            signals_name(signals_pending()), (unsigned long long)step_log_count(run->log));
  if (!run->data_ended) return;
  const unsigned long long planned = loop_planned_steps(run), epochs = run->epochs ? run->epochs : 1;
  const unsigned long long needed = (planned + epochs - 1) / epochs;
  log_line(PD_LOG_WARN, NULL,
           "the data ended after %llu of %llu planned steps: set [data] dataset_size = %llu (now %lld) or more, let "
           "more epochs "
           "follow with [run] epochs, or plan fewer steps with [run] max_steps",
           (unsigned long long)step_log_count(run->log), planned,
           needed * (unsigned long long)settings->data.batch_size, (long long)settings->data.dataset_size);
}

pd_status run_report_summary(run_state *run, const config *settings, pd_summary *summary) {
  *summary = (pd_summary){.size = sizeof *summary};
  const pd_status status = step_log_summarise(run->log, settings->data.batch_size, summary);
  if (run->failed != PD_OK) {
    summary->outcome = PD_RUN_FAILED;
    summary->reason = run->failure;
  } else if (signals_pending()) {
    summary->outcome = PD_RUN_INTERRUPTED;
    summary->reason = signals_name(signals_pending());
  }
  summary->windows = run->windows_done;
  summary->pauses = run->pause.count;
  summary->paused_s = 1e-9 * (double)(run->pause.all_ns + (run->pause.on ? monotonic_ns() - run->pause.since_ns : 0));
  uint64_t allocated = 0;
  (void)run->device_ops->memory->usage(run->access.device, &allocated, &summary->peak_reserved_bytes,
                                       &summary->peak_allocated_bytes);
  for (uint64_t i = 0; i < step_log_count(run->log); i++) {
    const pd_step_stats *step = step_log_at(run->log, i);
    if (step->reserved_bytes > summary->peak_reserved_bytes) summary->peak_reserved_bytes = step->reserved_bytes;
  }
  /* What is allocated is reserved, also where the peak lay inside a step. */
  if (summary->peak_allocated_bytes > summary->peak_reserved_bytes)
    summary->peak_reserved_bytes = summary->peak_allocated_bytes;
  if (summary->steps && run->energy_j > 0) {
    summary->energy_j = run->energy_j;
    summary->energy_j_per_step = run->energy_j / (double)summary->steps;
    summary->energy_j_per_sample = summary->energy_j_per_step / (double)settings->data.batch_size;
  }
  if (summary->steps && run->processor_energy_j > 0) {
    summary->processor_energy_j = run->processor_energy_j;
    summary->processor_energy_j_per_step = run->processor_energy_j / (double)summary->steps;
    summary->processor_energy_j_per_sample = summary->processor_energy_j_per_step / (double)settings->data.batch_size;
  }
  if (run->watch) summary->processor_energy_note = guard_processor_fault(run->watch);
  memcpy(summary->lost, run->lost, sizeof summary->lost);
  summary->corrected_ns = run->corrected_ns;
  summary->profile = run->profile.mode;
  summary->coverage = run->coverage_launches > 0 ? run->coverage_matched / run->coverage_launches : 1;
  if (summary->profile != PD_PROFILE_FULL || run->silent) summary->coverage = (double)NAN; /* nothing was counted */
  summary->profile_note = run->profile.note;
  if (summary->profile == PD_PROFILE_NONE && !summary->profile_note)
    summary->profile_note = run->timer_only ? "profile.timer_only = true: only steps were timed"
                                            : "the run ended before a window of active steps did";
  summary->notes = (pd_array){run->notes, log_warnings(run->notes, LOG_WARNINGS_KEPT), sizeof run->notes[0]};
  summary->sync_note = run->sync_timing
                           ? "host time between two device synchronisations around each step"
                           : "device time between two events around each step; an iteration lasts from the "
                             "end of one step on the device to the end of the next";
  return status;
}

void run_report_files(const run_state *run) {
  const char *line;
  files_force(run->services.files);
  while ((line = files_next_written(run->services.files))) log_say(!run->quiet, "pdhost: wrote %s", line);
}
