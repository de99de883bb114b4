/* See score.h. Each run is a process of its own; runs that are there from an earlier call are taken as they are. */
#include "score.h"

#include "cell.h"
#include "score_report.h"
#include "traces/trace_score.h"

#include "base/progress_line.h"
#include "base/self_path.h"
#include "base/signals.h"
#include "run/ranks/rank_deal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* On a terminal the progress line says how far it is; else each run has a line. */
typedef struct counter {
  uint32_t done, total;
  bool is_terminal;
} counter;

static counter begin_counter(const char *phase, uint32_t total) {
  progress_enter(phase, "run", total);
  return (counter){.total = total, .is_terminal = isatty(STDERR_FILENO)};
}

static void show(counter *self, const char *name, const char *said, bool was_there) {
  self->done++;
  progress_step();
  progress_note("%s: %s%s", name, said, was_there ? " (was there)" : "");
  if (!self->is_terminal)
    fprintf(stderr, "pdhost: score %u/%u %s: %s%s\n", self->done, self->total, name, said,
            was_there ? " (was there)" : "");
}

static void show_failure(const char *name, const char *why) {
  progress_hide();
  fprintf(stderr, "pdhost: %s failed: %s\n", name, why);
  progress_show();
}

/* `deal`: those of this rank alone; NULL: all. */
static bool run_cells(const cell_runner *runner, const rank_deal *deal, reading *readings, error *err) {
  const corpus *all = runner->corpus;
  counter at = begin_counter("running", all->cell_count);
  uint32_t failed = 0;
  for (uint32_t i = 0; i < all->cell_count; i++) {
    char name[512];
    bool was_there = false;
    if (deal && !rank_deal_has(deal, i)) continue;
    corpus_cell_name(all, &all->cells[i], name, sizeof name);
    if (!cell_run(runner, &all->cells[i], NULL, "", &readings[i], &was_there, err)) return false;
    show(&at, name, readings[i].cause, was_there);
    if (strcmp(readings[i].cause, "failed") != 0) continue;
    failed++;
    show_failure(name, cell_failure());
  }
  if (deal || failed < all->cell_count) return true;
  error_set(err, PD_INVALID, CODE_CONFIG, "score: none of the %u runs left a window to judge in %s", all->cell_count,
            runner->folder);
  return false;
}

/* What the verdict suggests where it names the cause of cell `i`, and where that is to be tried. */
static const char *fix_of(const corpus *all, const reading *of, uint32_t i) {
  const corpus_cell *cell = &all->cells[i];
  if (cell->is_baseline || cell->seed >= all->fix_seeds || !of->fix[0]) return NULL;
  return strcmp(judge_truth(&all->groups[cell->group], of), of->cause) ? NULL : of->fix;
}

/* A fix that seems to make the step longer is run once more, right behind another run without it: the machine may have
 * been slower by then, or other work may have stalled the first. The pair that speaks more for the fix counts. */
static bool try_fix(const cell_runner *runner, const corpus_cell *cell, const char *fix, reading *with,
                    double *without_ns, bool *was_there, error *err) {
  reading without, again;
  bool ignored;
  if (!cell_run(runner, cell, fix, "_fix", with, was_there, err)) return false;
  if (!judge_is_slower(*without_ns, with->step_ns)) return true;
  if (!cell_run(runner, cell, NULL, "_again", &without, &ignored, err) ||
      !cell_run(runner, cell, fix, "_fix_again", &again, &ignored, err))
    return false;
  if (!(without.step_ns > 0 && again.step_ns > 0)) return true;
  if (again.step_ns / without.step_ns > with->step_ns / *without_ns) return true;
  *with = again;
  *without_ns = without.step_ns;
  return true;
}

static bool try_fixes(const cell_runner *runner, const rank_deal *deal, const reading *readings, fix_trial *fixes,
                      error *err) {
  const corpus *all = runner->corpus;
  uint32_t total = 0;
  for (uint32_t i = 0; i < all->cell_count; i++) total += fix_of(all, &readings[i], i) != NULL;
  counter at = begin_counter("trying what the verdicts suggest", total);
  for (uint32_t i = 0; i < all->cell_count; i++) {
    const char *fix = deal && !rank_deal_has(deal, i) ? NULL : fix_of(all, &readings[i], i);
    if (!fix) continue;
    char name[512];
    bool was_there = false;
    reading with;
    double without_ns = readings[i].step_ns;
    corpus_cell_name(all, &all->cells[i], name, sizeof name);
    if (!try_fix(runner, &all->cells[i], fix, &with, &without_ns, &was_there, err)) return false;
    fixes[i] = (fix_trial){fix, with.step_ns, without_ns};
    show(&at, name, fix, was_there);
    if (with.step_ns > 0) continue;
    const bool is_failed = strcmp(with.cause, "failed") == 0;
    snprintf(name + strlen(name), sizeof name - strlen(name), "_fix");
    show_failure(name, is_failed ? cell_failure() : "its window has no steps to hold against");
  }
  return true;
}

/* A signal ends the run that is at work, in order, and then the score. Without runs it has nothing to end. */
static bool run_all(const cell_runner *runner, reading *readings, fix_trial *fixes, bool *gathers, error *err) {
  const rank_deal deal = rank_deal_find();
  if (!runner->only_read) signals_install(NULL, NULL);
  progress_begin("score", false);
  bool ok = true;
  *gathers = true;
  if (deal.count > 1 && !runner->only_read) {
    rank_deal_begin(&deal, runner->folder);
    ok = run_cells(runner, &deal, readings, err) && try_fixes(runner, &deal, readings, fixes, err);
    *gathers = ok && rank_deal_gathers(&deal, "score", runner->folder);
  }
  if (*gathers) ok = run_cells(runner, NULL, readings, err) && try_fixes(runner, NULL, readings, fixes, err);
  progress_end();
  if (!runner->only_read) signals_restore();
  return ok;
}

static int score_corpus(const cell_runner *runner, error *err) {
  const corpus *all = runner->corpus;
  reading *readings = calloc(all->cell_count, sizeof *readings);
  fix_trial *fixes = calloc(all->cell_count, sizeof *fixes);
  score *made = calloc(1, sizeof *made);
  bool ok = readings && fixes && made;
  if (ok) {
    *made = (score){.corpus = all, .readings = readings, .fixes = fixes};
    made->judged = calloc(all->cell_count, sizeof *made->judged);
    ok = made->judged != NULL;
  }
  if (!ok) error_no_memory(err);
  bool gathers = false;
  ok = ok && run_all(runner, readings, fixes, &gathers, err);
  ok = ok && (!gathers || score_judge(made, err));
  if (ok && gathers) {
    report_table(made);
    ok = report_files(made, runner->folder, err);
  }
  if (made) free(made->judged);
  free(made);
  free(readings);
  free(fixes);
  return ok ? CODE_DONE : err->exit_code;
}

typedef struct arguments {
  const char *path;   /* the corpus, or the folder of traces */
  const char *folder; /* --out; NULL: not given */
  const char *labels, *answers;
  bool no_python, only_read, help;
} arguments;

static bool take_corpus(void *user, const char *word, error *err) {
  arguments *self = user;
  if (self->path)
    error_add(err, PD_INVALID, CODE_USAGE, "score: unexpected argument '%s'; one corpus is scored at a time", word);
  else
    self->path = word;
  return true;
}

static const args_option rows[] = {
    {.name = "--out",
     .value = ARGS_REQUIRED,
     .argument = "FOLDER",
     .take = args_take_text,
     .code = offsetof(arguments, folder),
     .offer = ARGS_OFFER_FOLDER,
     .allowed = "a folder",
     .help =
         "where the runs and the score go (results/score): score.json and CSV files, and for each run a folder with "
         "its window, truth/truth.json and log; the same command continues where an earlier one ended"},
    {.name = "--rescore",
     .take = args_take_flag,
     .code = offsetof(arguments, only_read),
     .help = "start no run: judge what FOLDER holds again, with the verdict as it is now"},
    {.name = "--traces",
     .value = ARGS_REQUIRED,
     .argument = "LABELS",
     .take = args_take_text,
     .code = offsetof(arguments, labels),
     .offer = ARGS_OFFER_FILE,
     .allowed = "a file",
     .help =
         "score the traces of DIR that this file labels: one JSON object for each trace, with trace, cause and gains"},
    ARGS_NO_PYTHON_ROW(arguments, no_python),
    {.name = "--answers",
     .value = ARGS_REQUIRED,
     .argument = "FILE",
     .take = args_take_text,
     .code = offsetof(arguments, answers),
     .offer = ARGS_OFFER_FILE,
     .allowed = "a file",
     .help = "with --traces: score what another tool answered, in the form of the labels"},
    ARGS_PROGRESS_ROW,
    ARGS_HELP_ROW(arguments, help)};

static int score_main(int argc, char **argv);

const args_command score_command = {
    .name = "score",
    .summary = "run known causes, and say how often the verdict is right",
    .usage = "CORPUS.ini [--out FOLDER] [--rescore]\n--traces LABELS [--answers FILE] [--no-python] [--out FOLDER] DIR",
    .description =
        "Runs each cause of the corpus, at each intensity, size and seed, and says how often the verdict named what "
        "was injected, how far its shares were off, and how often the published rules of other tools name it. "
        "corpus/cpu_short.ini is for the CPU device, corpus/h200.ini for a GPU; docs/truth-and-score.md shows how to "
        "write one, and what each figure is.\n\n"
        "With --traces no run is started: the traces of DIR are read as pdhost analyze reads them, and their verdicts "
        "are compared with the labels, beside those of other tools' rules. --out writes answers.jsonl, a line for each "
        "trace. docs/benchmark-of-diagnoses.md has the format, in which any tool can answer.\n\n"
        "The exit code is 0 when there is a score, 3 when the corpus is wrong or no run left anything to judge, 8 when "
        "a "
        "file cannot be written, 128+n when signal n ended it.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .words = ARGS_OFFER_FILE,
    .main = score_main};

static arguments parse(int argc, char **argv, error *err) {
  arguments self = {.path = NULL};
  args_set set = {.rows = rows, .count = sizeof rows / sizeof rows[0], .user = &self};
  (void)args_parse(&set, 1, take_corpus, &self, "score: ", argc, argv, err);
  if (!err->count && !self.path && !self.help)
    error_set(err, PD_INVALID, CODE_USAGE, "score: no corpus given; see pdhost score --help");
  if (!err->count && self.answers && !self.labels)
    error_set(err, PD_INVALID, CODE_USAGE, "score: --answers: name the labels with --traces, too");
  if (!err->count && self.no_python && !self.labels)
    error_set(err, PD_INVALID, CODE_USAGE, "score: --no-python: name the labels of traces with --traces, too");
  if (!err->count && self.no_python && self.answers)
    error_set(err, PD_INVALID, CODE_USAGE,
              "score: --no-python: with --answers no trace is read; leave one of them out");
  return self;
}

static int score_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  char program[4096];
  error_clear(&err);
  const arguments given = parse(argc, argv, &err);
  if (!err.count && given.help) {
    args_print_help(&score_command);
    return CODE_DONE;
  }
  if (!err.count && given.labels) {
    const trace_score_request request = {given.labels, given.path, given.answers, given.folder, given.no_python};
    const int code = trace_score(&request, &err);
    error_print(&err);
    return code;
  }
  const char *folder = given.folder ? given.folder : "results/score";
  if (!err.count && !self_path(program, sizeof program))
    error_set(&err, PD_IO, CODE_INTERNAL,
              "score: where pdhost itself lies is not known; mount /proc, or start it by its path");
  corpus *all = err.count ? NULL : corpus_read(given.path, &err);
  const cell_runner runner = {all, program, folder, given.only_read};
  if (all && given.only_read && access(folder, R_OK | X_OK) != 0)
    error_set(&err, PD_IO, CODE_CONFIG, "score: %s: %s; --rescore judges what an earlier score left", folder,
              strerror(errno));
  const int code = all && !err.count ? score_corpus(&runner, &err) : err.exit_code;
  corpus_free(all);
  error_print(&err);
  return code;
}
