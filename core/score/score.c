/* See score.h. Each run is a process of its own; runs that are there from an earlier call are taken as they are. */
#include "score.h"

#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: pdhost score CORPUS.ini [--out FOLDER]\n"
    "\n"
    "Runs each cause of the corpus, and says how often the verdict named it. The runs and the\n"
    "score go to FOLDER (results/score); the same command goes on where an earlier one ended.\n";

/* Indices of causes by name; the first is "none". */
typedef struct names {
  const char *all[FIGURES_CAUSES];
  uint32_t count;
} names;

/* The last name stands for all that find no room. */
static uint32_t name_index(names *self, const char *name) {
  for (uint32_t i = 0; i < self->count; i++)
    if (!strcmp(self->all[i], name)) return i;
  if (self->count == FIGURES_CAUSES) return FIGURES_CAUSES - 1;
  self->all[self->count] = name;
  return self->count++;
}

static bool run_cells(const corpus *all, const char *program, const char *folder, cell_result *results, error *err) {
  for (uint32_t i = 0; i < all->cell_count; i++) {
    char name[512];
    bool was_there = false;
    corpus_cell_name(all, &all->cells[i], name, sizeof name);
    if (!cell_run(all, &all->cells[i], program, folder, &results[i], &was_there, err)) return false;
    fprintf(stderr, "pdhost: score %u/%u %s: %s%s\n", i + 1, all->cell_count, name, results[i].cause,
            was_there ? " (was there)" : "");
  }
  return true;
}

/* Small effects are left out; a run that failed counts as wrong whatever its effect. */
static void judge(const corpus *all, const cell_result *results, names *causes, judged *out) {
  for (uint32_t i = 0; i < all->cell_count; i++) {
    const corpus_cell *cell = &all->cells[i];
    const double own = results[i].step_ns, base = results[cell->baseline].step_ns;
    const double effect = own > 0 && base > 0 ? 1 - base / own : 0;
    out[i] = (judged){.truth = name_index(causes, all->groups[cell->group].expect),
                      .verdict = name_index(causes, results[i].cause),
                      .counts = cell->baseline == i || !(own > 0 && base > 0) || effect >= all->min_effect,
                      .effect = effect,
                      .share = results[i].share / 100};
  }
}

static int score_corpus(const corpus *all, const char *program, const char *folder, error *err) {
  cell_result *results = calloc(all->cell_count, sizeof *results);
  judged *cells = calloc(all->cell_count, sizeof *cells);
  names causes = {.all = {"none"}, .count = 1};
  score made = {.corpus = all, .results = results, .judged = cells};
  bool ok = results && cells;
  if (!ok) error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  ok = ok && run_cells(all, program, folder, results, err);
  if (ok) {
    judge(all, results, &causes, cells);
    made.causes = causes.all;
    ok = figures_make(cells, all->cell_count, causes.count, &made.figures);
    if (!ok) error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  }
  if (ok) {
    report_table(&made);
    ok = report_files(&made, folder, err);
  }
  free(results);
  free(cells);
  return ok ? CODE_DONE : err->exit_code;
}

int score_main(int argc, char **argv) {
  static error err; /* large; the main thread's alone */
  const char *path = NULL, *folder = "results/score";
  char program[4096];
  error_clear(&err);
  for (int i = 1; i < argc && !err.count; i++) {
    if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
      fputs(usage, stdout);
      return CODE_DONE;
    }
    if (!strcmp(argv[i], "--out") && i + 1 < argc)
      folder = argv[++i];
    else if (argv[i][0] == '-' || path)
      error_set(&err, PD_INVALID, CODE_USAGE, "score: %s: not expected; see pdhost score --help", argv[i]);
    else
      path = argv[i];
  }
  if (!err.count && !path) error_set(&err, PD_INVALID, CODE_USAGE, "score: no corpus given; see pdhost score --help");
  const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  if (!err.count && length <= 0) error_set(&err, PD_IO, CODE_INTERNAL, "score: /proc/self/exe cannot be read");
  corpus *all = NULL;
  if (!err.count) {
    program[length] = '\0';
    all = corpus_read(path, &err);
  }
  const int code = all ? score_corpus(all, program, folder, &err) : err.exit_code;
  corpus_free(all);
  error_print(&err);
  return code;
}
