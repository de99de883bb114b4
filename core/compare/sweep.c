/* See sweep.h. */
#include "sweep.h"

#include "own_options.h"
#include "sweep_cell.h"
#include "sweep_report.h"

#include "host/log.h"
#include "host/signals.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: pdhost sweep -c FILE [options of a run] --vary KEY=V,V [--vary KEY=V,V ...]\n"
    "       pdhost sweep -c FILE [options of a run] --sample KEY=DISTRIBUTION ... [--draws N] [--vary ...]\n"
    "\n"
    "Runs a scenario once for every combination of the values, each in a process of its own, and shows\n"
    "the time of an iteration, the best cell and curves. Cells run without a trace (profile.timer_only)\n"
    "unless -o says otherwise, and leave what TensorBoard's HParams tab shows side by side. The same\n"
    "command goes on where an earlier one ended. An axis whose key can do nothing in any cell is refused.\n"
    "\n"
    "  --vary section.key=VALUE,VALUE   an axis; a comma in a value is written \\,\n"
    "  --time iteration|step|wait       which time of a step counts (iteration; step\n"
    "                                   with [run] mode = benchmark, which times nothing else)\n"
    "  --out FOLDER                     sweep.json, sweep.csv, sweep.md, curves.svg, cells/ (results/sweep)\n"
    "  --format text|none               what to print (text)\n"
    "  --color[=always|never|auto]\n"
    "\n"
    "Keys can be drawn in place of listed, as torch.utils.benchmark's Fuzzer draws inputs; every draw is run\n"
    "at every combination of --vary. The rank correlation of each key with the time says which matters; of two\n"
    "combinations a draw, the ratio and the verdict are shown. draws.csv has a row per cell.\n"
    "\n"
    "  --sample section.key=DISTRIBUTION   a key that is drawn; DISTRIBUTION is one of\n"
    "      uniform(LOW,HIGH)            both ends are drawn; whole numbers where the key takes such\n"
    "      loguniform(LOW,HIGH)         logarithms alike; in either ,step=S: LOW + n * S alone\n"
    "      choice(V:WEIGHT,V:WEIGHT)    all alike without weights; \\, \\: \\\\ inside a value\n"
    "  --draws N                        so many (10); no two are the same, more begin with the same ones\n"
    "  --draw-seed N                    other draws (0)\n"
    "  --require 'a.b*c.d<=N'           draws that do not meet it are made anew\n";

typedef struct sweep_options {
  sweep_plan plan;
  error *err;
  sweep_time time;
  bool silent, help, quiet;
} sweep_options;

static const char *const time_names[] = {"iteration", "step", "wait"};

/* ---- command line ---- */

static bool take_vary(void *user, const char *value) {
  sweep_options *self = user;
  (void)sweep_plan_add(&self->plan, value, self->err); /* it says itself what is wrong */
  return true;
}

static bool take_sample(void *user, const char *value) {
  sweep_options *self = user;
  (void)draws_add(&self->plan.draws, value, self->err);
  return true;
}

static bool take_requirement(void *user, const char *value) {
  sweep_options *self = user;
  (void)draws_require(&self->plan.draws, value, self->err);
  return true;
}

static bool take_whole(const char *text, uint64_t most, uint64_t *value) {
  char *end;
  errno = 0;
  *value = strtoull(text, &end, 10);
  return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *value <= most;
}

static bool take_draws(void *user, const char *value) {
  uint64_t count;
  const bool ok = take_whole(value, SWEEP_CELLS, &count) && count;
  if (ok) ((sweep_options *)user)->plan.draw_count = (uint32_t)count;
  return ok;
}

static bool take_draw_seed(void *user, const char *value) {
  return take_whole(value, UINT64_MAX, &((sweep_options *)user)->plan.draw_seed);
}

static bool take_time(void *user, const char *value) {
  sweep_options *self = user;
  for (int i = 0; i < 3; i++)
    if (strcmp(value, time_names[i]) == 0) {
      self->time = (sweep_time)i;
      return true;
    }
  return false;
}

static bool take_out(void *user, const char *value) {
  return (((sweep_options *)user)->plan.folder = value)[0] != '\0' && strlen(value) < 2048;
}

static bool take_format(void *user, const char *value) {
  sweep_options *self = user;
  self->silent = strcmp(value, "none") == 0;
  return self->silent || strcmp(value, "text") == 0;
}

static bool take_quiet(void *user, const char *value) {
  log_set_level(PD_LOG_ERROR);
  return ((sweep_options *)user)->quiet = !value;
}
static bool take_help(void *user, const char *value) { return ((sweep_options *)user)->help = !value; }
static bool take_color(void *user, const char *value) {
  (void)user;
  return own_color(value);
}

static const own_option own[] = {{"--vary", OWN_REQUIRED, "section.key=VALUE,VALUE", take_vary},
                                 {"--sample", OWN_REQUIRED, "section.key=DISTRIBUTION", take_sample},
                                 {"--draws", OWN_REQUIRED, "1 .. 4096", take_draws},
                                 {"--draw-seed", OWN_REQUIRED, "0 .. 18446744073709551615", take_draw_seed},
                                 {"--require", OWN_REQUIRED, "PRODUCT<=PRODUCT", take_requirement},
                                 {"--time", OWN_REQUIRED, "iteration, step, wait", take_time},
                                 {"--out", OWN_REQUIRED, "a folder", take_out},
                                 {"--format", OWN_REQUIRED, "text, none", take_format},
                                 {"--color", OWN_OPTIONAL, "auto, always, never", take_color},
                                 {"-q", OWN_NONE, "", take_quiet},
                                 {"--help", OWN_NONE, "", take_help},
                                 {"-h", OWN_NONE, "", take_help}};

/* ---- the cells ---- */

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* One line per cell: what it took, and how long the rest may take. */
static void tell(const sweep_options *options, uint32_t cell, const sweep_outcome *out, const pd_measurement *row,
                 double left_s) {
  char name[4096], found[64] = "";
  statistics of;
  if (options->quiet) return;
  if (out->measured && statistics_make(row->host_s, row->block_count, &of)) {
    const double median = of.median / (double)row->number_per_run;
    const time_unit unit = statistics_unit(median);
    /* How many digits count is for the cells together to say. */
    snprintf(found, sizeof found, "%.4g %s", median / unit.s, unit.symbol);
  } else if (out->why[0]) {
    snprintf(found, sizeof found, "left out");
  } else {
    snprintf(found, sizeof found, "failed with exit code %d", out->code);
  }
  fprintf(stderr, "pdhost: sweep %u/%u %s: %s%s", cell + 1, options->plan.cell_count,
          sweep_plan_name(&options->plan, cell, 0, sweep_plan_key_count(&options->plan), name, sizeof name), found,
          out->was_there ? " (was there)" : "");
  if (left_s >= 1) fprintf(stderr, "; about %.0f s left", left_s);
  fputc('\n', stderr);
}

typedef struct findings {
  pd_measurements rows;
  uint64_t *places;            /* by cell: its row, or UINT64_MAX */
  int code;                    /* of the first run that failed */
  char said[ERROR_LINE_BYTES]; /* what the last cell said that has its times all the same */
} findings;

/* Why a cell's run failed is in its log: the last line of it is repeated. What cells that have their times say alike,
 * as that instructions cannot be counted, is said once. */
static void tell_log(const sweep_plan *plan, uint32_t cell, bool measured, findings *found) {
  char folder[4096], line[ERROR_LINE_BYTES];
  sweep_plan_folder(plan, cell, folder, sizeof folder);
  saved_run_said(folder, line, sizeof line);
  if (measured && strcmp(line, found->said) == 0) return;
  log_line(PD_LOG_ERROR, NULL, "%s/log: %s", folder, line[0] ? line : "the run said nothing");
  if (measured) memcpy(found->said, line, sizeof line);
}

/* A device that cannot be opened makes every cell fail, unless a key that differs between them decides which one that
 * is, or where it is found. */
static bool is_hopeless(const sweep_plan *plan, const sweep_outcome *out) {
  if (!out->no_device) return false;
  for (uint32_t i = 0; i < sweep_plan_key_count(plan); i++) {
    const config_assignment at = sweep_plan_at(plan, 0, i);
    if (strcmp(at.section, "run") == 0 || strcmp(at.section, "device") == 0) return false;
  }
  return true;
}

/* Why the first run failed, and with it the cells that were not run; `left`: so many. */
static void tell_hopeless(const sweep_plan *plan, uint32_t cell, uint32_t left, findings *found) {
  char folder[4096], line[ERROR_LINE_BYTES];
  static const char mark[] = "pdhost: error: ";
  if (!left) {
    tell_log(plan, cell, false, found);
    return;
  }
  sweep_plan_folder(plan, cell, folder, sizeof folder);
  const char *said = saved_run_said(folder, line, sizeof line);
  if (strncmp(said, mark, sizeof mark - 1) == 0) said += sizeof mark - 1;
  log_line(PD_LOG_ERROR, NULL, "%s; %u other cell%s not run", said, left, left == 1 ? " is" : "s are");
}

static void tell_failure(const sweep_plan *plan, uint32_t cell, const sweep_outcome *out, findings *found) {
  if (out->why[0])
    log_line(PD_LOG_ERROR, NULL, "sweep: %s", out->why);
  else
    tell_log(plan, cell, out->measured, found);
}

static bool keep_row(findings *found, uint32_t cell, pd_measurement *row, error *err) {
  found->places[cell] = found->rows.count;
  if (measurements_add(&found->rows, row) == PD_OK) return true;
  error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  return false;
}

static bool run_cells(const sweep_options *options, findings *found, error *err) {
  const sweep_plan *plan = &options->plan;
  double spent_s = 0;
  uint32_t ran = 0, left = 0, hopeless = plan->cell_count; /* the cell that shows that no other can run */
  for (uint32_t i = 0; i < plan->cell_count; i++) {
    pd_measurement row = {.threads = 1};
    sweep_outcome out;
    const double begin_s = now_s();
    const bool runs = hopeless == plan->cell_count;
    bool ok = sweep_cell_take(plan, i, options->time, runs, &row, &out, err);
    if (ok && runs && !out.was_there) {
      spent_s += now_s() - begin_s;
      ran++;
    }
    found->places[i] = UINT64_MAX;
    if (ok && (runs || out.was_there))
      tell(options, i, &out, &row, runs && ran ? spent_s / ran * (plan->cell_count - i - 1) : 0);
    else if (ok)
      left++;
    if (ok && out.code != CODE_DONE && out.code != CODE_UNTRUSTED) {
      if (found->code == CODE_DONE) found->code = out.code;
      if (ran == 1 && is_hopeless(plan, &out))
        hopeless = i;
      else
        tell_failure(plan, i, &out, found);
    }
    ok = ok && (!out.measured || keep_row(found, i, &row, err));
    measurement_clear(&row);
    if (!ok) return false;
  }
  if (hopeless < plan->cell_count) tell_hopeless(plan, hopeless, left, found);
  return true;
}

static int report(const sweep_options *options, const findings *found, error *err) {
  const sweep_plan *plan = &options->plan;
  const pd_measurement **cells = calloc(plan->cell_count, sizeof(void *));
  samples from;
  if (!cells) {
    error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
    return CODE_INTERNAL;
  }
  for (uint32_t i = 0; i < plan->cell_count; i++)
    if (found->places[i] != UINT64_MAX) cells[i] = &found->rows.rows[found->places[i]];
  int code = CODE_DONE;
  if (samples_of(&found->rows, "sweep", false, &from, err)) {
    (void)samples_show_order(&from); /* without memory for it, digits as the spreads support them */
    const sweep_found of = {.plan = plan, .cells = cells, .from = &from, .of = time_names[options->time]};
    code = sweep_report_files(&of, &found->rows, options->quiet);
    if (!options->silent && !sweep_report_text(&of, log_color_on(STDOUT_FILENO), err)) code = err->exit_code;
    samples_free(&from);
  } else {
    code = err->exit_code;
  }
  free(cells);
  return code;
}

static int sweep(const sweep_options *options, error *err) {
  findings found = {.places = calloc(options->plan.cell_count, sizeof *found.places)};
  if (!found.places) {
    error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
    return CODE_INTERNAL;
  }
  signals_install(NULL, NULL);
  int code = run_cells(options, &found, err) ? CODE_DONE : err->exit_code;
  signals_restore();
  if (code == CODE_DONE && found.rows.count) code = report(options, &found, err);
  if (code == CODE_DONE) code = found.code;
  measurements_clear(&found.rows);
  free(found.places);
  return code;
}

/* [run] mode = benchmark times the step alone: an iteration of all its cells is one, a wait is not there, and beside
 * iterations of other cells it would look like one. */
static bool choose_time(sweep_options *self, error *err) {
  const uint32_t benchmarks = self->plan.benchmark_count;
  if (benchmarks == self->plan.cell_count && self->time == SWEEP_ITERATION) self->time = SWEEP_STEP;
  if (!benchmarks || self->time == SWEEP_STEP) return true;
  error_set(err, PD_INVALID, CODE_USAGE,
            "sweep: --time %s: [run] mode = benchmark times the step alone; give --time step, or another mode",
            time_names[self->time]);
  return false;
}

static int parse_and_run(sweep_options *options, int argc, char **argv, char **rest, error *err) {
  char program[4096];
  const int count = own_options_take(own, sizeof own / sizeof own[0], options, argc, argv, rest, err);
  if (options->help) {
    error_clear(err);
    fputs(usage, stdout);
    return CODE_DONE;
  }
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (length <= 0) error_add(err, PD_IO, CODE_INTERNAL, "sweep: /proc/self/exe cannot be read");
  if (err->count) return err->exit_code;
  program[length] = '\0';
  options->plan.program = program;
  options->plan.base = rest + 1;
  options->plan.base_count = (uint32_t)count - 1;
  return sweep_plan_check(&options->plan, err) && choose_time(options, err) ? sweep(options, err) : err->exit_code;
}

int sweep_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  error_clear(&err);
  sweep_options options = {.plan = {.folder = "results/sweep"}, .err = &err};
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
