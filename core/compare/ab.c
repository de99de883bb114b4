/* See ab.h. */
#include "ab.h"

#include "ab_report.h"
#include "ab_trial.h"
#include "compare_page.h"
#include "gate/junit.h"

#include "abi/services.h"
#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "base/version.h"
#include "config/cli_frame.h"
#include "measure/measurement_file.h"
#include "run/ranks/rank_launch.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A share of the margin: where both sides are equal, the whole interval then lies within the margin. */
#define USUAL_WIDTH 0.4

typedef struct ab_options {
  double margin, width, max_time_s;
  const char *output; /* NULL: none */
  args_format format;
  const char *page, *junit; /* NULL: none is wanted */
  bool loop, gate, help;
} ab_options;

/* ---- command line ---- */

static bool take_width(void *user, const args_option *row, const char *value, error *err) {
  return args_take_share(user, row, value, err) && ((ab_options *)user)->width > 0;
}

static const args_option rows[] = {
    ARGS_MARGIN_ROW(ab_options, margin),
    {.name = "--width",
     .value = ARGS_REQUIRED,
     .argument = "PERCENT",
     .take = take_width,
     .code = offsetof(ab_options, width),
     .allowed = "per cent, above 0 up to 100",
     .help = "stop when the 95 % interval is this narrow (0.4 times the margin)"},
    {.name = "--max-time",
     .value = ARGS_REQUIRED,
     .argument = "SECONDS",
     .take = args_take_seconds,
     .code = offsetof(ab_options, max_time_s),
     .allowed = "seconds, above 0 up to 86400",
     .help = "stop after this time of timed blocks, including the emptying of caches (10)"},
    {.name = "--output",
     .value = ARGS_REQUIRED,
     .argument = "FILE.json",
     .take = args_take_text,
     .code = offsetof(ab_options, output),
     .allowed = "a file",
     .offer = ARGS_OFFER_FILE,
     .help = "write both as measurements, for pdhost compare; with - they go to standard output and the text to "
             "standard error"},
    ARGS_FORMAT_ROW(ab_options, format, "text|json|csv", "text, json, csv"),
    ARGS_HTML_ROW(ab_options, page),
    {.name = "--loop",
     .take = args_take_flag,
     .code = offsetof(ab_options, loop),
     .help = "time whole iterations of the training loop, with the loader, in blocks of [truth] block steps"},
    ARGS_GATE_ROW(ab_options, gate),
    ARGS_JUNIT_ROW(ab_options, junit),
    ARGS_HELP_ROW(ab_options, help)};

static int ab_main(int argc, char **argv);

const args_command ab_command = {
    .name = "ab",
    .summary = "find out which of two configurations is faster, measured in turns",
    .usage = "[NAME] [-c FILE] [options] 'key=v1 ...' 'key=v2 ...'",
    .description =
        "Times a scenario's step with two configurations, A and B, in one process and in turns (A B B A, then B A A "
        "B), "
        "until the interval of their ratio is narrow enough or the time is up. Each side is a list of keys, separated "
        "by spaces, on top of the settings that both share; '' means no changes. Keys that do not change "
        "the step ([profile], [schedule], the loader's) are refused. With --loop the loader is a part of what is "
        "timed, "
        "and its keys may be given.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .takes_run_options = true,
    .examples = "pdhost ab tiny_ops train.fused=true train.fused=false\n"
                "pdhost ab -c my.ini '' 'train.channels_last=true' --gate",
    .words = ARGS_OFFER_KEY,
    .main = ab_main};

/* ---- the measurement ---- */

static int end_code(const ab_options *options, outcome verdict) {
  if (!options->gate || verdict == OUTCOME_SAME || verdict == OUTCOME_FASTER) return CODE_DONE;
  return verdict == OUTCOME_SLOWER ? CODE_REGRESSION : CODE_INCONCLUSIVE;
}

/* What pdhost compare makes of both. */
static int write_page(const ab_options *options, const ab_sides *sides, error *err) {
  samples from;
  sample_pairs pairs = {.all = NULL};
  if (!samples_of(&sides->rows, "ab", false, &from, err)) return err->exit_code;
  pd_status status = PD_NO_MEMORY;
  if (sample_pairs_make(&from, options->margin, false, &pairs)) {
    const compare_report of = {.from = &from, .pairs = &pairs};
    status = compare_page_write(&of, options->page, err);
  } else {
    error_no_memory(err);
  }
  sample_pairs_free(&pairs);
  samples_free(&from);
  return status == PD_OK ? CODE_DONE : err->exit_code;
}

static int write_junit(const ab_options *options, const ab_report *of, error *err) {
  static junit_case step; /* large */
  char a[256], b[256];
  step = (junit_case){.verdict = of->verdict, .time_s = (double)NAN};
  ab_sides_name(of->sides, 0, a, sizeof a);
  ab_sides_name(of->sides, 1, b, sizeof b);
  snprintf(step.name, sizeof step.name, "%s: %s -> %s", of->sides->rows.rows[0].scenario, a, b);
  comparison_sentence(&of->of->of.of, a, b, step.message, sizeof step.message);
  return junit_write(options->junit, "ab", &step, 1, err) == PD_OK ? CODE_DONE : err->exit_code;
}

static int report(const ab_options *options, ab_sides *sides, const ab_result *got, bool partial, error *err) {
  ab_report of = {.sides = sides,
                  .of = got,
                  .margin = options->margin,
                  .verdict = comparison_paired(&got->of, options->margin),
                  .partial = partial};
  if (ab_sides_measured(sides, got, partial) != PD_OK) {
    error_no_memory(err);
    return CODE_INTERNAL;
  }
  const bool taken = options->output && strcmp(options->output, "-") == 0;
  const bool color = log_color_on(taken ? STDERR_FILENO : STDOUT_FILENO);
  const bool told = options->format == ARGS_JSON  ? ab_report_json(&of, err)
                    : options->format == ARGS_CSV ? ab_report_csv(&of, err)
                                                  : ab_report_text(&of, color, taken ? stderr : stdout, err);
  const int written = options->output ? measurement_file_write(options->output, sides->rows.rows, 2) : CODE_DONE;
  if (!told) return err->exit_code;
  const int shown = options->page ? write_page(options, sides, err) : CODE_DONE;
  const int tested = shown == CODE_DONE && options->junit ? write_junit(options, &of, err) : CODE_DONE;
  if (shown != CODE_DONE || tested != CODE_DONE) return shown != CODE_DONE ? shown : tested;
  return written == CODE_DONE ? end_code(options, of.verdict) : written;
}

static int measure(const ab_options *options, ab_sides *sides, error *err) {
  const double width = options->width > 0 ? options->width : USUAL_WIDTH * options->margin;
  progress_enter("measuring", "step", 0);
  ab_result got;
  const pd_status status = ab_trial_measure(sides, width, options->max_time_s, 0, &got);
  progress_end();
  int code = CODE_DONE;
  if (sides->code != CODE_DONE) { /* it did not come up again, and said why */
    ab_free(&got);
    return sides->code;
  }
  if (got.rounds && status != PD_NO_MEMORY) code = report(options, sides, &got, status != PD_OK, err);
  ab_free(&got);
  if (signals_pending()) return 128 + signals_pending();
  if (status == PD_OK || err->count) return code;
  const char *failure = ab_sides_failure(sides);
  if (status == PD_NO_MEMORY) failure = service_status_text(status);
  error_set(err, status, CODE_SCENARIO, "ab: %s", failure[0] ? failure : "no block has a time: the clock is broken");
  return CODE_SCENARIO;
}

static bool check(const ab_options *options, const cli_args *args, error *err) {
  if (args->word_count != 2)
    error_set(err, PD_INVALID, CODE_USAGE, "ab: expected two configurations, got %u; see pdhost ab --help",
              args->word_count);
  else if (!(options->margin > 0 || options->width > 0))
    error_set(err, PD_INVALID, CODE_USAGE, "ab: --margin 0: also needs --width, to know when to end");
  else if (options->format != ARGS_TEXT && options->output && strcmp(options->output, "-") == 0)
    error_set(err, PD_INVALID, CODE_USAGE, "ab: --output -: standard output has what --format prints; name a file");
  return !err->count;
}

static int compare_sides(cli_args *args, const void *given, error *err) {
  const ab_options *options = given;
  ab_sides sides;
  char a[256], b[256];
  const bench_kind kind = options->loop ? BENCH_LOOP : BENCH_STEP;
  if (!rank_launch_is_alone("ab", err) || !check(options, args, err) || !ab_sides_check(kind, args, err))
    return err->exit_code;
  if (!ab_sides_load(&sides, kind, args, args->words, err)) {
    ab_sides_close(&sides);
    return err->exit_code;
  }
  signals_install(NULL, NULL);
  int code = options->output ? measurement_file_check(options->output) : CODE_DONE;
  progress_begin("ab", args->quiet);
  progress_enter("setting both up", NULL, 0);
  if (code == CODE_DONE) code = ab_sides_open(&sides);
  progress_hide();
  if (code == CODE_DONE && !args->quiet)
    fprintf(stderr, "pdhost %s: ab of %s: %s, %s\n", version_text(), sides.settings[0]->scenario.plugin->table->name,
            ab_sides_name(&sides, 0, a, sizeof a), ab_sides_name(&sides, 1, b, sizeof b));
  progress_show();
  if (code == CODE_DONE) code = measure(options, &sides, err);
  progress_end();
  ab_sides_close(&sides);
  signals_restore();
  return code;
}

static int ab_main(int argc, char **argv) {
  ab_options options = {.margin = COMPARISON_MARGIN, .max_time_s = 10};
  const cli_frame frame = {.options = &options,
                           .help = &options.help,
                           .words = 2,
                           .only_run = true,
                           .work = compare_sides,
                           .user = &options};
  return cli_frame_run(&ab_command, &frame, argc, argv);
}
