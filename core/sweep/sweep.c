/* See sweep.h. */
#include "sweep.h"

#include "sweep_cells.h"
#include "sweep_report.h"

#include "config/cli_args.h"
#include "base/log.h"
#include "base/progress_line.h"
#include "base/self_path.h"
#include "base/signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct sweep_options {
  sweep_plan plan;
  run_time time;
  args_format format;
  bool silent, help, quiet;
} sweep_options;

static const char *const time_names[] = {"iteration", "step", "wait"};

/* ---- command line ---- */

static bool take_vary(void *user, const args_option *row, const char *value, error *err) {
  (void)row;
  (void)sweep_plan_add(&((sweep_options *)user)->plan, value, err); /* it says itself what is wrong */
  return true;
}

static bool take_sample(void *user, const args_option *row, const char *value, error *err) {
  (void)row;
  (void)draws_add(&((sweep_options *)user)->plan.draws, value, err);
  return true;
}

static bool take_requirement(void *user, const args_option *row, const char *value, error *err) {
  (void)row;
  (void)draws_require(&((sweep_options *)user)->plan.draws, value, err);
  return true;
}

static bool take_whole(const char *text, uint64_t most, uint64_t *value) {
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *value <= most;
}

static bool take_draws(void *user, const args_option *row, const char *value, error *err) {
  uint64_t count;
  (void)row;
  (void)err;
  const bool ok = take_whole(value, SWEEP_CELLS, &count) && count;
  if (ok) ((sweep_options *)user)->plan.draw_count = (uint32_t)count;
  return ok;
}

static bool take_draw_seed(void *user, const args_option *row, const char *value, error *err) {
  (void)row;
  (void)err;
  return take_whole(value, UINT64_MAX, &((sweep_options *)user)->plan.draw_seed);
}

static bool take_time(void *user, const args_option *row, const char *value, error *err) {
  sweep_options *self = user;
  (void)row;
  (void)err;
  for (int i = 0; i < 3; i++)
    if (strcmp(value, time_names[i]) == 0) {
      self->time = (run_time)i;
      return true;
    }
  return false;
}

static bool take_out(void *user, const args_option *row, const char *value, error *err) {
  (void)row;
  (void)err;
  return (((sweep_options *)user)->plan.folder = value)[0] != '\0' && strlen(value) < 2048;
}

static bool take_format(void *user, const args_option *row, const char *value, error *err) {
  sweep_options *self = user;
  self->silent = strcmp(value, "none") == 0;
  return self->silent || args_take_format(user, row, value, err);
}

static bool take_quiet(void *user, const args_option *row, const char *value, error *err) {
  log_set_level(PD_LOG_ERROR);
  return args_take_flag(user, row, value, err);
}

static const args_option rows[] = {
    {.name = "--vary",
     .value = ARGS_REQUIRED,
     .argument = "KEY=VALUE,VALUE",
     .take = take_vary,
     .allowed = "section.key=VALUE,VALUE",
     .offer = ARGS_OFFER_KEY,
     .help = "an axis; a comma inside a value is written \\,"},
    {.name = "--time",
     .value = ARGS_REQUIRED,
     .argument = "WHICH",
     .take = take_time,
     .offer = ARGS_OFFER_CHOICES,
     .allowed = "iteration, step, wait",
     .help = "which time counts: iteration (the whole step), wait (for data) or step (what follows the wait); default: "
             "iteration, or step with [run] mode = benchmark, which times nothing else"},
    {.name = "--out",
     .value = ARGS_REQUIRED,
     .argument = "FOLDER",
     .take = take_out,
     .allowed = "a folder",
     .offer = ARGS_OFFER_FOLDER,
     .help = "where sweep.json, sweep.csv, sweep.md, curves.svg and cells/ go (results/sweep)"},
    {.name = "--format",
     .value = ARGS_REQUIRED,
     .argument = "text|json|csv|md|none",
     .take = take_format,
     .offer = ARGS_OFFER_CHOICES,
     .allowed = "text, json, csv, md, none",
     .code = offsetof(sweep_options, format),
     .help = "what to print (text)"},
    {.name = "--quiet",
     .letter = 'q',
     .take = take_quiet,
     .code = offsetof(sweep_options, quiet),
     .help = "no line per cell, no warnings"},
    ARGS_COLOR_ROW,
    ARGS_PROGRESS_ROW,
    ARGS_HELP_ROW(sweep_options, help),
    {.name = "--sample",
     .value = ARGS_REQUIRED,
     .argument = "KEY=DISTRIBUTION",
     .take = take_sample,
     .group = "random values instead of listed ones",
     .offer = ARGS_OFFER_KEY,
     .allowed = "section.key=DISTRIBUTION",
     .help = "draw this key: uniform(LOW,HIGH), both ends included, whole numbers where the key takes whole numbers; "
             "loguniform(LOW,HIGH); either with ,step=S: only LOW + n * S; choice(V:WEIGHT,V:WEIGHT), equal weights if "
             "none is given, and \\, \\: \\\\ inside a value"},
    {.name = "--draws",
     .value = ARGS_REQUIRED,
     .argument = "N",
     .take = take_draws,
     .allowed = "1 .. 4096",
     .help = "number of draws (10); no two are the same, and a larger number begins with the same draws"},
    {.name = "--draw-seed",
     .value = ARGS_REQUIRED,
     .argument = "N",
     .take = take_draw_seed,
     .allowed = "0 .. 18446744073709551615",
     .help = "random seed of the draws (0)"},
    {.name = "--require",
     .value = ARGS_REQUIRED,
     .argument = "'a.b*c.d<=N'",
     .take = take_requirement,
     .allowed = "PRODUCT<=PRODUCT",
     .help = "draw again if the values do not meet this"}};

static int sweep_main(int argc, char **argv);

const args_command sweep_command = {
    .name = "sweep",
    .summary = "run every combination of values, or random draws, and find the best",
    .usage = "[NAME] [-c FILE] [options] --vary KEY=V,V ...\n"
             "[NAME] [-c FILE] [options] --sample KEY=DISTRIBUTION ...",
    .description =
        "Runs a scenario once for every combination of the values, each in a process of its own, and shows the time of "
        "an iteration (a whole step), the best cell and curves. Cells run without a trace (profile.timer_only) unless "
        "-o says "
        "otherwise, and write event files that TensorBoard's HParams tab shows side by side. The same command "
        "continues where an "
        "earlier one ended. An axis whose key has no effect in any cell is refused.\n\n"
        "Keys can be drawn at random instead of listed, as torch.utils.benchmark's Fuzzer draws inputs. Every draw is "
        "run "
        "at every combination of --vary. The rank correlation of each key with the time says which key matters. With "
        "two "
        "combinations per draw, the ratio and the verdict are shown. draws.csv has a row per cell.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .takes_run_options = true,
    .examples = "pdhost sweep dataloader --vary data.num_workers=0,1,2,4",
    .words = ARGS_OFFER_CONFIG,
    .main = sweep_main};

/* ---- the sweep ---- */

static int report(const sweep_options *options, const sweep_findings *found, error *err) {
  const sweep_plan *plan = &options->plan;
  const pd_measurement **cells = calloc(plan->cell_count, sizeof(void *));
  samples from;
  if (!cells) {
    error_no_memory(err);
    return CODE_INTERNAL;
  }
  for (uint32_t i = 0; i < plan->cell_count; i++)
    if (found->places[i] != UINT64_MAX) cells[i] = &found->rows.rows[found->places[i]];
  int code = CODE_DONE;
  if (samples_of(&found->rows, "sweep", false, &from, err)) {
    (void)samples_show_order(&from); /* without memory for it, digits as the spreads support them */
    const sweep_found of = {.plan = plan, .cells = cells, .from = &from, .of = time_names[options->time]};
    code = sweep_report_files(&of, &found->rows, options->quiet);
    if (!options->silent && !sweep_report_print(&of, &found->rows, options->format, err)) code = err->exit_code;
    samples_free(&from);
  } else {
    code = err->exit_code;
  }
  free(cells);
  return code;
}

/* Under a launcher of ranks each makes its own cells first; rank 0 then has them all. */
static bool run_dealt(const sweep_options *options, sweep_findings *found, bool *gathers, error *err) {
  const rank_deal deal = rank_deal_find();
  const sweep_plan *plan = &options->plan;
  if (deal.count > 1) {
    rank_deal_begin(&deal, plan->folder);
    if (!sweep_cells_run(plan, &deal, options->time, options->quiet, found, err)) return false;
    *gathers = rank_deal_gathers(&deal, "sweep", plan->folder);
    /* What failed here rank 0 tries again: a rank that ends with a failure would be the end of all. */
    if (!*gathers && !deal.is_array) found->code = CODE_DONE;
    if (!*gathers) return true;
    measurements_clear(&found->rows);
    found->code = CODE_DONE;
  }
  return sweep_cells_run(plan, NULL, options->time, options->quiet, found, err);
}

static int sweep(const sweep_options *options, error *err) {
  sweep_findings found = {.places = calloc(options->plan.cell_count, sizeof *found.places)};
  if (!found.places) {
    error_no_memory(err);
    return CODE_INTERNAL;
  }
  signals_install(NULL, NULL);
  progress_begin("sweep", options->quiet);
  progress_enter("running", "cell", options->plan.cell_count);
  bool gathers = true;
  int code = run_dealt(options, &found, &gathers, err) ? CODE_DONE : err->exit_code;
  progress_end();
  signals_restore();
  if (code == CODE_DONE && gathers && found.rows.count) code = report(options, &found, err);
  if (code == CODE_DONE) code = found.code;
  measurements_clear(&found.rows);
  free(found.places);
  return code;
}

/* [run] mode = benchmark times the step alone: an iteration of all its cells is one, a wait is not there, and beside
 * iterations of other cells it would look like one. */
static bool choose_time(sweep_options *self, error *err) {
  const uint32_t benchmarks = self->plan.benchmark_count;
  if (benchmarks == self->plan.cell_count && self->time == RUN_TIME_ITERATION) self->time = RUN_TIME_STEP;
  if (!benchmarks || self->time == RUN_TIME_STEP) return true;
  error_set(err, PD_INVALID, CODE_USAGE,
            "sweep: --time %s: [run] mode = benchmark times the step alone; give --time step, or another mode",
            time_names[self->time]);
  return false;
}

/* What is not the sweep's own goes to each run unchanged. */
static bool keep_word(void *user, const char *word, error *err) {
  args_set *runs = user;
  (void)err;
  runs->kept[runs->kept_count++] = (char *)word;
  return true;
}

static int parse_and_run(sweep_options *options, int argc, char **argv, char **rest, error *err) {
  char program[4096];
  args_set sets[2] = {{.rows = rows, .count = sizeof rows / sizeof rows[0], .user = options}, {.kept = rest}};
  sets[1].rows = cli_args_options(&sets[1].count);
  (void)args_parse(sets, 2, keep_word, &sets[1], "sweep: ", argc, argv, err);
  if (options->help) {
    error_clear(err);
    args_print_help(&sweep_command);
    return CODE_DONE;
  }
  if (!self_path(program, sizeof program))
    error_add(err, PD_IO, CODE_INTERNAL,
              "sweep: where pdhost itself lies is not known; mount /proc, or start it by its path");
  if (err->count) return err->exit_code;
  options->plan.program = program;
  options->plan.base = rest;
  options->plan.base_count = sets[1].kept_count;
  return sweep_plan_check(&options->plan, err) && choose_time(options, err) ? sweep(options, err) : err->exit_code;
}

static int sweep_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  error_clear(&err);
  sweep_options options = {.plan = {.folder = "results/sweep"}};
  char **rest = calloc((size_t)argc + 1, sizeof *rest);
  int code = CODE_INTERNAL;
  if (rest)
    code = parse_and_run(&options, argc, argv, rest, &err);
  else
    error_set(&err, PD_NO_MEMORY, code, "out of memory");
  error_print(&err);
  sweep_plan_free(&options.plan);
  free(rest);
  return code;
}
