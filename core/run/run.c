/* One run; see run.h. */
#include "run.h"

#include "board.h"
#include "loop.h"
#include "measured_step.h"
#include "manifest/manifest.h"
#include "ranks/rank_group.h"
#include "ranks/rank_live.h"
#include "ranks/rank_output.h"
#include "run_capture.h"
#include "run_parts.h"
#include "run_report.h"
#include "supervise.h"
#include "writing/feed.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "config/run_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Below this share of launches with their device record, figures are not to be trusted. */
#define COVERAGE_TRUSTED 0.999

static const char *trace_dir_origin(const config *settings) {
  for (uint64_t i = 0; i < settings->setting_count; i++) {
    const pd_setting *at = &settings->settings[i];
    if (strcmp(at->section, "run") == 0 && strcmp(at->key, "trace_dir") == 0) return at->origin;
  }
  return "default";
}

/* Makes it; false, with the reason, where no file can be written there. */
static bool folder_takes_files(const char *path, char *fault, size_t room) {
  if (files_make_folder(path, fault, room) != PD_OK) return false;
  if (access(path, W_OK | X_OK) == 0) return true;
  snprintf(fault, room, "%s: folder cannot be written: %s", path, strerror(errno));
  return false;
}

static void make_folder(run_state *run, const config *settings, const pd_run *about) {
  char fault[512];
  const bool names_it = !run->ranks || rank_group_rank(run->ranks) == 0;
  /* Sinks that write elsewhere are served all the same. */
  if (!folder_takes_files(about->trace_dir, fault, sizeof fault))
    snprintf(run->folder_fault, sizeof run->folder_fault, "%s: [run] trace_dir = %s: %s", trace_dir_origin(settings),
             about->trace_dir, fault);
  else if (names_it) {
    const char *above = run_folder_above(settings);
    run_capture_look(above ? above : about->trace_dir, above ? 1 : 0);
    run_folder_point(settings);
  }
  rank_output_take(about->trace_dir, false);
}

/* Where there is a capture they are in the writer. */
static int bring_up_sinks(run_state *run, const config *settings, const pd_run *about) {
  if (run->capture && feed_is_on()) {
    feed_open();
    return CODE_DONE;
  }
  feed_refuse();
  files_count_printed(run->services.files, &board_own()->feed.printed); /* a writer may follow this process */
  sink_entry *entries = calloc(settings->sink_count + 1, sizeof *entries);
  if (!entries) return run_parts_report(NULL, PD_NO_MEMORY, "sinks", CODE_INTERNAL);
  for (uint32_t i = 0; i < settings->sink_count; i++) {
    const config_plugin *sink = &settings->sinks[i];
    entries[i] = (sink_entry){sink->plugin->table->name, sink->plugin->table->ops.sink, sink->options, NULL};
  }
  run->sinks = sink_set_open(&run->services, entries, settings->sink_count, about, run->folder_fault);
  free(entries);
  return run->sinks ? CODE_DONE : run_parts_report(NULL, PD_NO_MEMORY, "sinks", CODE_INTERNAL);
}

/* What the run's end means for the process. A signal comes first, since the user asked; then what went wrong. */
static int exit_code(const run_state *run, const config *settings, const pd_summary *summary, bool sink_failed) {
  if (signals_pending()) return 128 + signals_pending();
  if (run->failed != PD_OK) return CODE_SCENARIO;
  if (settings->run.require_cupti && run->windows_done && summary->profile != PD_PROFILE_FULL) {
    error_line_print(FAULT_DEVICE, NULL, "[run] require_cupti: device records are missing: %s",
                     summary->profile_note ? summary->profile_note : "profiling was not possible");
    return CODE_DEVICE;
  }
  if (sink_failed) return CODE_OUTPUT;
  if (settings->run.require_cupti && run->silent) {
    error_line_print(FAULT_UNTRUSTED, NULL,
                     "[run] require_cupti: a window of this run has operations and no record of any launch");
    return CODE_UNTRUSTED;
  }
  if (summary->profile == PD_PROFILE_FULL && summary->coverage < COVERAGE_TRUSTED) {
    log_line(PD_LOG_WARN, NULL,
             "only %.2f %% of the launches have their device record: the figures of this run are not to be trusted",
             100 * summary->coverage);
    return CODE_UNTRUSTED;
  }
  return CODE_DONE;
}

/* What was injected, beside the results. Where the folder takes no file, that is an error only of a run that was made
 * to measure it. */
static int write_truth(run_state *run, const pd_run *about) {
  const pd_host *host = service_host_table(run->core_host);
  if (!truth_steps(run->truth)) return CODE_DONE;
  if (run->folder_fault[0]) {
    if (run->truth_rounds)
      error_line_print(FAULT_OUTPUT, NULL, "truth.json: %s; it is left out", run->folder_fault);
    else
      log_line(PD_LOG_WARN, NULL, "truth.json: %s; it is left out", run->folder_fault);
    return run->truth_rounds ? CODE_OUTPUT : CODE_DONE;
  }
  const pd_status status = truth_write(run->truth, host->extension(host, PD_EXT_FILES), about);
  return status == PD_OK ? CODE_DONE : run_parts_report(run->core_host, status, "truth.json", CODE_OUTPUT);
}

/* What another run of the same is compared with. The results are whole without it. */
static void write_manifest(run_state *run, const config *settings, const pd_run *about, const pd_summary *summary) {
  char why[1024] = "";
  const pd_host *host = service_host_table(run->core_host);
  if (!summary->steps) return;
  if (run->folder_fault[0]) {
    /* Where truth.json is due, it has been said already. */
    log_line(truth_steps(run->truth) ? PD_LOG_INFO : PD_LOG_WARN, NULL, MANIFEST_FILE ": %s; it is left out",
             run->folder_fault);
    return;
  }
  const pd_status status =
      run->manifest ? manifest_write(run->manifest, settings, about, summary, host->extension(host, PD_EXT_FILES))
                    : PD_NO_MEMORY;
  if (status == PD_OK) return;
  service_host_take_message(run->core_host, why, sizeof why);
  log_line(PD_LOG_WARN, NULL, MANIFEST_FILE ": %s; it is left out", why[0] ? why : service_status_text(status));
}

/* Whether the user wants tables on standard output. */
static bool has_table(const config *settings) {
  for (uint32_t i = 0; i < settings->sink_count; i++)
    if (strcmp(settings->sinks[i].plugin->table->name, "table") == 0) return true;
  return false;
}

/* The summary of all ranks, by rank 0. Where one of them failed there is none. */
static int report_ranks(run_state *run, const pd_run *about) {
  char path[4096];
  if (!run->live || rank_group_meet(run->ranks, run->failed != PD_OK || signals_pending() ? CODE_SCENARIO : CODE_DONE))
    return CODE_DONE;
  const pd_host *host = service_host_table(run->core_host);
  (void)snprintf(path, sizeof path, "%s/ranks/summary.json", about->trace_dir);
  const pd_status status = rank_live_gather(run->live, host->extension(host, PD_EXT_FILES), path);
  if (status == PD_OK && run->sinks) analysis_add_run_tables(run->analysis, rank_live_tables(run->live));
  if (status == PD_OK) run_capture_ranks(run);
  return status == PD_OK ? CODE_DONE : run_parts_report(run->core_host, status, "ranks", CODE_OUTPUT);
}

/* Why this rank ends before the others. */
static const char *own_reason(const run_state *run) {
  if (!signals_pending()) return run->failure;
  return feed_is_orphan() ? "its supervisor was killed" : signals_name(signals_pending());
}

/* Who stops the launcher stops all ranks: the signal of another one may be reported before this one has its own. */
static void await_signal(const rank_group *ranks) {
  const struct timespec nap = {.tv_nsec = 10000000};
  for (int i = 0; i < 100 && rank_group_asked_to_end(ranks) && !signals_pending(); i++) (void)nanosleep(&nap, NULL);
}

/* What failed here because another rank was lost is that rank's failure, which rank 0 tells. What fails here, or is
 * ended by a signal, ends the others. */
static void end_with_ranks(run_state *run, pd_status *status) {
  char text[640];
  if (*status == PD_OK && !signals_pending()) return;
  bool tells = false;
  const bool lost = rank_group_lost(run->ranks, text, sizeof text, &tells);
  if (!lost) rank_group_tell(run->ranks, own_reason(run));
  if (!lost) return;
  await_signal(run->ranks);
  if (signals_pending() && rank_group_asked_to_end(run->ranks)) { /* all ranks were, each at a step of its own */
    run->failed = *status = PD_OK;
    return;
  }
  (void)snprintf(run->failure, sizeof run->failure, "%s", text);
  if (run->failed == PD_OK) run->failed = PD_IO; /* a signal came, too: the launcher's, since that rank ended */
  *status = tells ? run->failed : PD_OK;         /* the error is reported once */
}

/* Names the files, unless the writer has. CODE_OUTPUT where a sink failed. */
static int close_sinks(run_state *run, const pd_summary *summary) {
  feed_result end = {.code = -1};
  if (!run->sinks) {
    feed_last();
    files_force(run->services.files); /* meanwhile; the writer does it for its own */
    end = feed_end();
  }
  const bool here = end.code < 0;
  const uint32_t failed = sink_set_close(run->sinks, summary);
  run->sinks_ended = end.left_out || (!run->sinks && here);
  run->sinks = NULL;
  if (here) run_report_files(run);
  if (failed || run->sinks_ended) return CODE_OUTPUT;
  return here ? CODE_DONE : end.code;
}

static int run_and_report(run_state *run, const config *settings, const pd_run *about) {
  run_report_header(run, settings);
  pd_status status = loop_run(run);
  if (status == PD_OK && !signals_pending()) status = measured_step_finish(run);
  if (run->ranks) end_with_ranks(run, &status);
  if (status != PD_OK) error_line_print(FAULT_SCENARIO, NULL, "%s", run->failure);
  run_report_shortfall(run, settings);
  board_phase("writing the results");
  progress_enter("writing the results", NULL, 0);
  if (truth_steps(run->truth)) truth_tell(run->truth, about);
  pd_summary summary;
  const pd_status summed = run_report_summary(run, settings, &summary);
  if (!truth_steps(run->truth) || !truth_dialled(run->truth, about, &summary.dial_asked_us, &summary.dial_injected_us))
    summary.dial_asked_us = summary.dial_injected_us = 0;
  if (summed != PD_OK) run_parts_report(NULL, summed, "summary", CODE_INTERNAL);
  const int ranks_code = report_ranks(run, about);
  if (run->live && has_table(settings)) rank_live_print_head(run->live); /* before what one rank says of itself */
  const int told = write_truth(run, about); /* first, so that a sink that closes last can name the file */
  write_manifest(run, settings, about, &summary);
  run_capture_end(run, &summary); /* the same */
  const int closed = close_sinks(run, &summary);
  progress_end();
  if (run->live && has_table(settings) && !run->quiet) rank_live_print_figures(run->live);
  const int code = exit_code(run, settings, &summary, closed == CODE_OUTPUT);
  log_flush_repeats();
  if (code != CODE_DONE) return code;
  return summed != PD_OK || closed != CODE_DONE ? CODE_INTERNAL : told != CODE_DONE ? told : ranks_code;
}

/* A sink holds temporary files from its opening on: a signal has to find the handlers there. */
static int run_with_sinks(run_state *run, const config *settings) {
  pd_run about;
  signals_install((void (*)(void *))data_loader_stop, run->loader);
  signals_hear_pauses();
  run_report_about(run, settings, &about);
  make_folder(run, settings, &about);
  run_capture_open(run, settings, &about); /* before the sinks, so that what they leave unfinished is known */
  int code = bring_up_sinks(run, settings, &about);
  if (code == CODE_DONE) code = run_and_report(run, settings, &about);
  run_capture_close(run, run->sinks_ended);
  signals_restore();
  return code;
}

static int run_here(config *settings) {
  run_state *run = calloc(1, sizeof *run);
  if (!run) return run_parts_report(NULL, PD_NO_MEMORY, "run", CODE_INTERNAL);
  progress_begin(settings->scenario.plugin->table->name, settings->quiet);
  board_phase("setting up");
  progress_enter("setting up", NULL, 0);
  int code = rank_group_open(settings);
  if (code == CODE_DONE) code = run_parts_open(run, settings);
  run->manifest = manifest_open();
  if (code == CODE_DONE && run->ranks) run->live = rank_live_open(run->ranks, settings);
  /* A failure here is a rank that was lost, and the loop's first collective tells of it. */
  if (run->live) (void)rank_live_begin(run->live);
  run_folder_fill(settings); /* with the name that the ranks agreed on */
  if (code == CODE_DONE) code = run_with_sinks(run, settings);
  progress_end();
  rank_live_close(run->live);
  manifest_close(run->manifest);
  run_parts_close(run);
  rank_group_close();
  free(run);
  return code;
}

int run_execute(config *settings) {
  (void)run_folder_name(); /* by this process, which is the one that the user knows */
  const int code = rank_group_find(settings);
  return code == CODE_DONE ? supervise_run(settings, run_here) : code;
}
