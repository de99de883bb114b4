/* See benchmark.h. */
#include "benchmark.h"

#include "bench.h"
#include "callgrind.h"
#include "guard_report.h"
#include "measurement_file.h"
#include "abi/device_text.h"
#include "abi/services.h"
#include "base/error.h"
#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "base/version.h"
#include "run/ranks/rank_launch.h"

#include "measurement_judge.h"
#include "measurement_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(void) {
  error_line_print(FAULT_MEMORY, NULL, "benchmark: %s", service_status_text(PD_NO_MEMORY));
  return CODE_INTERNAL;
}

/* The scenario asked for the end, as it may: what there is counts. */
static int stopped(const bench *step, const pd_measurement *out, bool trusted) {
  if (!out->block_count) {
    error_line_print(FAULT_SCENARIO, NULL, "%s, before a block was measured", bench_failure(step));
    return CODE_SCENARIO;
  }
  log_line(PD_LOG_WARN, NULL, "%s: the measurement is partial, with %llu block%s", bench_failure(step),
           (unsigned long long)out->block_count, out->block_count == 1 ? "" : "s");
  return trusted ? CODE_DONE : CODE_UNTRUSTED;
}

/* How long the blocks may take, in seconds; 0: not known. */
static double longest_s(const timer_rules *rules) {
  if (rules->method == TIMER_TIMEIT) return 0;
  const bool by_time = rules->method == TIMER_BLOCKED_AUTORANGE && !rules->min_blocks && !rules->clock;
  return by_time || rules->max_run_time_s < rules->min_run_time_s ? rules->min_run_time_s : rules->max_run_time_s;
}

static void enter_settling(const steady_rules *settling) {
  if (!(settling->max_time_s > 0)) return;
  progress_enter("waiting for steady times", "step", 0);
  progress_ends_within(settling->max_time_s);
}

static void enter_blocks(const timer_rules *rules) {
  progress_enter("measuring", "step", rules->method == TIMER_TIMEIT ? rules->number : 0);
  if (longest_s(rules) > 0) progress_ends_within(longest_s(rules));
}

/* Measures and judges. `out` has no block where nothing was measured. */
static int measure(bench *step, const config *settings, pd_measurement *out) {
  const timer_rules rules = bench_rules(settings);
  const steady_rules settling = bench_steady_rules(settings);
  guard_facts facts = {.own_cores = -1};
  bool trusted = true;
  progress_enter("warming up", "step", (uint64_t)settings->run.warmup_steps);
  pd_status status = bench_warm_up(step);
  enter_settling(&settling);
  if (status == PD_OK) status = steady_wait(&settling, bench_block, step, out);
  progress_enter("finding the steps of a block", "step", 0);
  if (status == PD_OK) status = timer_prepare(&rules, bench_block, step, out);
  if (status == PD_OK) {
    enter_blocks(&rules);
    bench_watch_begin(step);
    status = timer_take(&rules, bench_block, step, out);
    bench_watch_end(step, &facts);
  }
  if (status == PD_NO_MEMORY) return no_memory();
  if (out->block_count && (measurement_judge(out, &trusted) != PD_OK || guard_report(&facts, out, &trusted) != PD_OK))
    return no_memory();
  if (signals_pending()) {
    log_say(!settings->quiet, "pdhost: %s: the measurement is partial, with %llu block%s",
            signals_name(signals_pending()), (unsigned long long)out->block_count, out->block_count == 1 ? "" : "s");
    return 128 + signals_pending();
  }
  if (status == PD_INVALID && !bench_failure(step)[0]) {
    error_line_print(FAULT_SCENARIO, NULL, "benchmark: no block has a time: the machine's clock is broken");
    return CODE_INTERNAL;
  }
  if (status == PD_STOP) return stopped(step, out, trusted);
  if (status != PD_OK) {
    error_line_print(FAULT_SCENARIO, NULL, "%s", bench_failure(step));
    return CODE_SCENARIO;
  }
  return trusted ? CODE_DONE : CODE_UNTRUSTED;
}

/* On standard output, unless the file goes there. */
static int show(const config *settings, const pd_measurement *row) {
  const bool taken = strcmp(settings->benchmark.output, "-") == 0;
  if (settings->quiet) return CODE_DONE;
  return measurement_print(row, taken ? stderr : stdout) == PD_OK ? CODE_DONE : no_memory();
}

static int describe_and_measure(bench *step, const config *settings, pd_measurement *row) {
  char device[512];
  if (bench_describe(step, row) != PD_OK) return no_memory();
  log_say(!settings->quiet, "pdhost %s: %s of %s on %s", version_text(), settings->benchmark.method, row->scenario,
          device_text(row->device, pairs_get(&row->versions, "libraries"), device, sizeof device));
  return measure(step, settings, row);
}

/* `auto` may have taken a GPU, which was not known when the keys were checked. */
static int refuse_gpu(const bench *step, const config *settings) {
  uint32_t index;
  if (!settings->benchmark.callgrind || !bench_gpu(step, &index)) return CODE_DONE;
  error_line_print(FAULT_CLASH, NULL, "[benchmark] callgrind = %lld: " CALLGRIND_NO_GPU,
                   (long long)settings->benchmark.callgrind);
  return CODE_CONFIG;
}

/* Brought down before anything else is run, so that two do not hold the machine at once. */
static int open_and_measure(config *settings, pd_measurement *row) {
  bench *step;
  int code = bench_open(settings, BENCH_STEP, &step);
  if (code == CODE_DONE) code = refuse_gpu(step, settings);
  if (code == CODE_DONE) code = describe_and_measure(step, settings, row);
  bench_close(step);
  return code;
}

static bool is_measured(int code) { return code == CODE_DONE || code == CODE_UNTRUSTED; }

/* `worse` where the measurement itself went well. */
static int worse_of(int code, int worse) { return is_measured(code) && worse != CODE_DONE ? worse : code; }

static int measure_and_tell(config *settings) {
  pd_measurement row = {.threads = 1, .number_per_run = 1};
  const char *path = settings->benchmark.output;
  progress_begin(settings->scenario.plugin->table->name, settings->quiet);
  progress_enter("setting up", NULL, 0);
  int code = open_and_measure(settings, &row);
  if (settings->benchmark.callgrind && is_measured(code))
    code = worse_of(code, callgrind_count(settings, &row.instructions));
  progress_end();
  if (row.block_count) {
    const int told = show(settings, &row), written = path[0] ? measurement_file_write(path, &row, 1) : CODE_DONE;
    if (written == CODE_DONE && path[0] && strcmp(path, "-") != 0 && !settings->quiet)
      fprintf(stderr, "pdhost: wrote %s\n", path);
    code = worse_of(worse_of(code, written), told);
  }
  measurement_clear(&row);
  return code;
}

/* A sink asked for in vain. */
static void warn_of_sinks(const config *settings) {
  for (uint64_t i = 0; i < settings->setting_count; i++) {
    const pd_setting *at = &settings->settings[i];
    if (strcmp(at->section, "run") == 0 && strcmp(at->key, "sinks") == 0 && strcmp(at->origin, "command line") == 0)
      log_line(PD_LOG_WARN, NULL,
               "--sink has no meaning with [run] mode = benchmark: the measurement goes to [benchmark] output = %s",
               settings->benchmark.output[0] ? settings->benchmark.output : "nothing");
  }
}

int benchmark_execute(config *settings) {
  static error err; /* large; the main thread's alone */
  if (getenv(CALLGRIND_CHILD)) return callgrind_child(settings);
  error_clear(&err);
  if (strcmp(settings->run.communicator, "none") != 0 && !rank_launch_is_alone("--mode benchmark", &err)) {
    error_print(&err);
    return err.exit_code;
  }
  warn_of_sinks(settings);
  int code = settings->benchmark.output[0] ? measurement_file_check(settings->benchmark.output) : CODE_DONE;
  if (code != CODE_DONE) return code;
  signals_install(NULL, NULL);
  code = measure_and_tell(settings);
  signals_restore();
  log_flush_repeats();
  return code;
}
