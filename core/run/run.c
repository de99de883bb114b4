/* One run; see run.h. */
#include "run.h"

#include "board.h"
#include "loop.h"
#include "run_capture.h"
#include "run_parts.h"
#include "run_report.h"
#include "supervise.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static int bring_up_sinks(run_state *run, const config *settings, const pd_run *about) {
  char fault[512];
  /* Sinks that write elsewhere are served all the same. */
  if (!folder_takes_files(about->trace_dir, fault, sizeof fault))
    snprintf(run->folder_fault, sizeof run->folder_fault, "%s: [run] trace_dir = %s: %s", trace_dir_origin(settings),
             about->trace_dir, fault);
  sink_entry *entries = calloc(settings->sink_count + 1, sizeof *entries);
  if (!entries) return run_parts_report(NULL, PD_NO_MEMORY, "sinks", CODE_INTERNAL);
  for (uint32_t i = 0; i < settings->sink_count; i++) {
    const config_plugin *sink = &settings->sinks[i];
    entries[i] = (sink_entry){sink->plugin->table->name, sink->plugin->table->ops.sink, sink->options};
  }
  run->sinks = sink_set_open(&run->services, entries, settings->sink_count, about, run->folder_fault);
  free(entries);
  return run->sinks ? CODE_DONE : run_parts_report(NULL, PD_NO_MEMORY, "sinks", CODE_INTERNAL);
}

/* What the run's end means for the process. A signal comes first, since the user asked; then what went wrong. */
static int exit_code(const run_state *run, const config *settings, const pd_summary *summary, uint32_t failed_sinks) {
  if (signals_pending()) return 128 + signals_pending();
  if (run->failed != PD_OK) return CODE_SCENARIO;
  if (settings->run.require_cupti && run->windows_done && summary->profile != PD_PROFILE_FULL) {
    error_line_print(FAULT_DEVICE, NULL, "[run] require_cupti: device records are missing: %s",
                     summary->profile_note ? summary->profile_note : "profiling was not possible");
    return CODE_DEVICE;
  }
  if (failed_sinks) return CODE_OUTPUT;
  if (settings->run.require_cupti && run->silent) {
    error_line_print(FAULT_UNTRUSTED, NULL,
                     "[run] require_cupti: a window of this run has operations and no record of any launch");
    return CODE_UNTRUSTED;
  }
  if (summary->profile == PD_PROFILE_FULL && summary->coverage < COVERAGE_TRUSTED) {
    log_line(PD_LOG_WARN, NULL,
             "only %.4f of the launches have their device record: the figures of this run are not to be trusted",
             summary->coverage);
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

static int run_and_report(run_state *run, const config *settings, const pd_run *about) {
  run_report_header(run, settings);
  const pd_status status = loop_run(run);
  if (status != PD_OK) error_line_print(FAULT_SCENARIO, NULL, "%s", run->failure);
  run_report_shortfall(run, settings);
  progress_enter("writing the results", NULL, 0);
  if (truth_steps(run->truth)) truth_tell(run->truth, about);
  pd_summary summary;
  const pd_status summed = run_report_summary(run, settings, &summary);
  if (summed != PD_OK) run_parts_report(NULL, summed, "summary", CODE_INTERNAL);
  const int told = write_truth(run, about); /* first, so that a sink that closes last can name the file */
  run_capture_end(run, &summary);           /* the same */
  const uint32_t failed_sinks = sink_set_close(run->sinks, &summary);
  run->sinks = NULL;
  progress_end();
  if (board_own()->died) files_remove_unfinished(run->services.files, board_own()->died);
  run_report_files(run);
  const int code = exit_code(run, settings, &summary, failed_sinks);
  log_flush_repeats();
  if (code != CODE_DONE) return code;
  return summed != PD_OK ? CODE_INTERNAL : told;
}

/* A sink holds temporary files from its opening on: a signal has to find the handlers there. */
static int run_with_sinks(run_state *run, const config *settings) {
  pd_run about;
  signals_install((void (*)(void *))data_loader_stop, run->loader);
  run_report_about(run, settings, &about);
  int code = bring_up_sinks(run, settings, &about);
  if (code == CODE_DONE) {
    run_capture_open(run, settings, &about);
    code = run_and_report(run, settings, &about);
    run_capture_close(run);
  }
  signals_restore();
  return code;
}

static int run_here(config *settings) {
  run_state *run = calloc(1, sizeof *run);
  if (!run) return run_parts_report(NULL, PD_NO_MEMORY, "run", CODE_INTERNAL);
  progress_begin(settings->scenario.plugin->table->name, settings->quiet);
  progress_enter("setting up", NULL, 0);
  int code = run_parts_open(run, settings);
  if (code == CODE_DONE) code = run_with_sinks(run, settings);
  progress_end();
  run_parts_close(run);
  free(run);
  return code;
}

int run_execute(config *settings) { return supervise_run(settings, run_here); }
