/* See whatif.h. */
#include "whatif.h"

#include "advise_command.h"
#include "whatif_report.h"

#include "base/progress_line.h"

#include <stdio.h>

enum { TRIALS_MOST = VERDICT_COUNT * CURES_MOST };

typedef struct whatif_options {
  double max_time_s; /* of each trial */
  args_format format;
  bool all, help;
} whatif_options;

static const args_option rows[] = {{.name = "--max-time",
                                    .value = ARGS_REQUIRED,
                                    .argument = "SECONDS",
                                    .take = args_take_seconds,
                                    .code = offsetof(whatif_options, max_time_s),
                                    .allowed = "seconds, above 0 up to 86400",
                                    .help = "measure each cure for this time at most (15)"},
                                   {.name = "--all",
                                    .take = args_take_flag,
                                    .code = offsetof(whatif_options, all),
                                    .help = "try the cures of causes below 1 %, too"},
                                   ARGS_FORMAT_ROW(whatif_options, format, "text|json", "text, json"),
                                   ARGS_HELP_ROW(whatif_options, help)};

static int whatif_main(int argc, char **argv);

const args_command whatif_command = {
    .name = "whatif",
    .summary = "say what a run would save without each cause, and measure it",
    .usage = "[NAME] [-c FILE] [options]",
    .description =
        "Records a window of the run, predicts by replay what the step would save without each cause, and then "
        "measures the run without the cause, in turns with the run as it is (as pdhost ab --loop does). It prints "
        "both, and how far the prediction was off. Causes that no key can remove are listed, too.\n\n"
        "The exit code is 0 when there is a report, that of the run when it fails, 128+n when signal n ended it.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .takes_run_options = true,
    .examples = "pdhost whatif tiny_ops\n"
                "pdhost whatif -c my.ini --max-time 30 --format json",
    .words = ARGS_OFFER_CONFIG,
    .main = whatif_main};

/* One trial for each cure of the causes that matter; their number. */
static uint32_t choose(const whatif_options *options, const predictions *of, whatif_trial *out) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < of->count; i++)
    for (uint32_t c = 0; c < of->all[i].cure_count; c++) {
      const prediction *at = &of->all[i];
      if (options->all || at->gain + at->cures[c].more >= WHATIF_LEAST)
        out[count++] = (whatif_trial){.of = at, .cure = c};
    }
  return count;
}

static bool try_cures(const whatif_options *options, const cli_args *args, whatif_trial *trials, uint32_t count,
                      error *err) {
  for (uint32_t i = 0; i < count; i++) {
    const char *settings = trials[i].of->cures[trials[i].cure].settings;
    const char *const texts[2] = {"", settings};
    char phase[128];
    snprintf(phase, sizeof phase, "cure %u of %u: %s", i + 1, count, settings);
    progress_enter(phase, "step", 0);
    if (!ab_trial_loops(args, texts, COMPARISON_MARGIN, options->max_time_s, &trials[i].got, err)) return false;
  }
  return true;
}

static int report(const whatif_options *options, const whatif_report *of, error *err) {
  if (options->format != ARGS_JSON)
    whatif_report_text(of);
  else if (!whatif_report_json(of))
    error_no_memory(err);
  return err->count ? err->exit_code : CODE_DONE;
}

static int look(const void *user, const cli_args *args, const char *folder, error *err) {
  const whatif_options *options = user;
  static whatif_trial trials[TRIALS_MOST]; /* large; the main thread's alone */
  predictions found = {.count = 0};
  uint32_t count = 0;
  progress_begin("whatif", args->quiet);
  progress_enter("recording a window", NULL, 0);
  bool ok = predictions_record(args, "", folder, "whatif", &found, err);
  if (ok) count = choose(options, &found, trials);
  ok = ok && try_cures(options, args, trials, count, err);
  progress_end();
  const whatif_report of = {.of = &found, .trials = trials, .trial_count = count};
  const int code = ok ? report(options, &of, err) : err->exit_code;
  predictions_free(&found);
  return code;
}

static int whatif_main(int argc, char **argv) {
  whatif_options options = {.max_time_s = 15};
  return advise_command_run(&whatif_command, &options, &options.help, look, argc, argv);
}
