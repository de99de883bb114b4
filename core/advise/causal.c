/* See causal.h. */
#include "causal.h"

#include "advise_command.h"
#include "causal_report.h"

#include "base/progress_line.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct causal_options {
  causal_rules rules;
  args_format format;
  bool help;
} causal_options;

/* Rising shares, from above 0 to the step's own time and no further. */
static bool take_levels(void *user, const args_option *row, const char *value, error *err) {
  causal_rules *rules = &((causal_options *)user)->rules;
  double before = 0;
  (void)row;
  (void)err;
  rules->level_count = 1;
  for (const char *at = value;; at++) {
    char *end = NULL;
    const double level = strtod(at, &end) / 100;
    if (end == at || !(level > before && level <= 1) || rules->level_count == CAUSAL_LEVELS_MOST) return false;
    rules->levels[rules->level_count++] = before = level;
    if (*end == '\0') return rules->level_count > 2;
    if (*end != ',') return false;
    at = end;
  }
}

static const args_option rows[] = {
    {.name = "--levels",
     .value = ARGS_REQUIRED,
     .argument = "LIST",
     .take = take_levels,
     .allowed = "two to four rising shares of the step in per cent, at most 100: 10,20,40",
     .help = "delays to put into each part, in per cent of the step (10,20,40)"},
    {.name = "--max-time",
     .value = ARGS_REQUIRED,
     .argument = "SECONDS",
     .take = args_take_seconds,
     .code = offsetof(causal_options, rules.max_time_s),
     .allowed = "seconds, above 0 up to 86400",
     .help = "measure each part for this time at most, but for eight rounds at least (10)"},
    ARGS_FORMAT_ROW(causal_options, format, "text|json", "text, json"),
    ARGS_HELP_ROW(causal_options, help)};

static int causal_main(int argc, char **argv);

const args_command causal_command = {
    .name = "causal",
    .summary = "slow one part of a run down at a time, and see what its step does",
    .usage = "[NAME] [-c FILE] [options]",
    .description =
        "Delays one part of the step at a time by known times, in turns with the step as it is. The parts are: the "
        "host before it launches kernels, the loader, kernels, copies to the device, reads back, waits for the device, "
        "allocations. For each part it prints the step's change at each delay, and the slope: how many microseconds a "
        "step grows for each microsecond of delay, with a 95 % interval. A slope near 1 says that the part is on the "
        "critical path: the step waits for it. Near 0 it is not, and making it faster saves nothing.\n\n"
        "Beside each slope is what the verdict on a recorded window predicts for the causes in that part. Where the "
        "two contradict each other, a sentence says so. A slope does not say how long a part takes: a short part may "
        "be on the path and have little to save.\n\n"
        "The exit code is 0 when there is a report, that of the run when it fails, 128+n when signal n ended it.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .takes_run_options = true,
    .examples = "pdhost causal control\n"
                "pdhost causal -c my.ini --levels 5,10 --format json",
    .words = ARGS_OFFER_CONFIG,
    .main = causal_main};

static int report(const causal_options *options, const causal_report *of, error *err) {
  const bool ok = options->format == ARGS_JSON ? causal_report_json(of) : causal_report_text(of);
  if (!ok) error_no_memory(err);
  return ok ? CODE_DONE : err->exit_code;
}

static int look(const void *user, const cli_args *args, const char *folder, error *err) {
  const causal_options *options = user;
  predictions found = {.count = 0};
  causal_parts parts = {.step_ns = 0};
  progress_begin("causal", args->quiet);
  progress_enter("recording a window", NULL, 0);
  int code = predictions_record(args, "", folder, "causal", &found, err) ? CODE_DONE : err->exit_code;
  if (code == CODE_DONE) code = causal_parts_measure(args, &options->rules, &parts, err);
  progress_end();
  const causal_report of = {.of = &found, .parts = &parts, .rules = &options->rules};
  if (code == CODE_DONE) code = report(options, &of, err);
  causal_parts_free(&parts);
  predictions_free(&found);
  return code;
}

static int causal_main(int argc, char **argv) {
  causal_options options = {.rules = {.levels = {0, 0.1, 0.2, 0.4}, .level_count = 4, .max_time_s = 10}};
  return advise_command_run(&causal_command, &options, &options.help, look, argc, argv);
}
