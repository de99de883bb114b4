/* See sweep_report.h. */
#include "sweep_report.h"

#include "sweep_page.h"
#include "sweep_curves.h"
#include "sweep_draws.h"
#include "compare/comparison.h"
#include "compare/grid.h"
#include "compare/render.h"

#include "base/files.h"
#include "base/log.h"
#include "measure/measurement_file.h"
#include "measure/measurement_json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 4096, TIES_NAMED = 4 };

static bool no_memory(error *err) {
  error_no_memory(err);
  return false;
}

/* ---- the best ---- */

/* The cells that stand so, some of them by name. */
static void print_standing(const sweep_found *self, const sweep_standing *all, sweep_standing wanted,
                           const char *heading) {
  char name[NAME_BYTES];
  uint32_t count = 0;
  for (uint32_t i = 0; i < self->plan->cell_count; i++) {
    if (all[i] != wanted || count++ >= TIES_NAMED) continue;
    printf("%*s %s\n", (int)strlen(heading), count == 1 ? heading : "", sweep_found_name(self, i, name, sizeof name));
  }
  if (count > TIES_NAMED) printf("%*s and %u more\n", (int)strlen(heading), "", count - TIES_NAMED);
}

/* The least blocks among the best and those that have too few, and what gives more. */
static void print_too_few(const sweep_found *self, const sweep_standing *all, const sample *best) {
  char heading[64];
  uint64_t least = best->figures.count;
  bool any = false;
  for (uint32_t i = 0; i < self->plan->cell_count; i++) {
    if (all[i] != SWEEP_STANDING_TOO_FEW) continue;
    const uint64_t count = sweep_found_at(self, i)->figures.count;
    least = count < least ? count : least;
    any = true;
  }
  if (!any) return;
  snprintf(heading, sizeof heading, "too few blocks (%llu of %d) to tell it from:", (unsigned long long)least,
           COMPARISON_DIRECTION_LEAST);
  print_standing(self, all, SWEEP_STANDING_TOO_FEW, heading);
  printf("raise %s for more blocks\n",
         strstr(best->of->method, " of a run") ? "schedule.active" : "benchmark.min_blocks");
}

/* Cells that the data do not tell from the best. */
static bool print_ties(const sweep_found *self, uint32_t best, error *err) {
  const sample *against = sweep_found_at(self, best);
  sweep_standing *all = calloc(self->plan->cell_count, sizeof *all);
  bool ok = all != NULL;
  for (uint32_t i = 0; ok && i < self->plan->cell_count; i++)
    ok = sweep_found_standing(against, sweep_found_at(self, i), &all[i]);
  if (ok) {
    print_standing(self, all, SWEEP_STANDING_TIE, "not told apart from it:");
    print_too_few(self, all, against);
    print_standing(self, all, SWEEP_STANDING_TIMELESS, "a time is zero, so there is no ratio to:");
  }
  free(all);
  return ok || no_memory(err);
}

static bool print_best(const sweep_found *self, error *err) {
  char name[NAME_BYTES];
  const sweep_extremes at = sweep_found_extremes(self);
  const sample *best = sweep_found_at(self, at.best), *worst = sweep_found_at(self, at.worst);
  const time_unit unit = statistics_unit(best->figures.median);
  printf("\nBest: %s: %.4g %s, %.2g of the slowest (%s)\n", sweep_found_name(self, at.best, name, sizeof name),
         statistics_trim(best->figures.median / unit.s, best->shown), unit.symbol,
         worst->figures.median > 0 ? best->figures.median / worst->figures.median : 1, self->of);
  return print_ties(self, at.best, err);
}

/* ---- the whole ---- */

static bool print_text(const sweep_found *self, bool color, error *err) {
  grids tables;
  if (!grids_make(self->from, &tables)) return no_memory(err);
  for (uint32_t i = 0; i < tables.count; i++) {
    if (i) putchar('\n');
    render_text(&tables.all[i], color, stdout);
  }
  grids_free(&tables);
  if (!print_best(self, err)) return false;
  if (self->plan->draws.key_count && !sweep_draws_print(self)) return no_memory(err);
  return !sweep_curves_exist(self->plan) || sweep_curves_print(self) || no_memory(err);
}

static bool write_csv(const sweep_found *self, FILE *out) {
  grids tables;
  if (!grids_make(self->from, &tables)) return false;
  render_csv_heading(out);
  for (uint32_t i = 0; i < tables.count; i++) render_csv(&tables.all[i], self->from, out);
  grids_free(&tables);
  return true;
}

static bool write_markdown(const sweep_found *self, FILE *out) {
  grids tables;
  if (!grids_make(self->from, &tables)) return false;
  for (uint32_t i = 0; i < tables.count; i++) render_markdown(&tables.all[i], out);
  grids_free(&tables);
  return true;
}

static bool print_json(const pd_measurements *rows) {
  char *text = measurements_to_json(rows->rows, rows->count);
  if (text) fputs(text, stdout);
  free(text);
  return text != NULL;
}

bool sweep_report_print(const sweep_found *self, const pd_measurements *rows, args_format format, error *err) {
  switch (format) {
  case ARGS_JSON: return print_json(rows) || no_memory(err);
  case ARGS_CSV: return write_csv(self, stdout) || no_memory(err);
  case ARGS_MD: return write_markdown(self, stdout) || no_memory(err);
  default: return print_text(self, log_color_on(STDOUT_FILENO), err);
  }
}

/* By a temporary name, then renamed. */
static int write_file(const sweep_found *self, const char *name, bool (*write)(const sweep_found *, FILE *)) {
  char path[NAME_BYTES], *temporary;
  snprintf(path, sizeof path, "%s/%s", self->plan->folder, name);
  FILE *out = files_open_stream(path, &temporary);
  if (out && files_end_stream(out, write(self, out), path, temporary)) return CODE_DONE;
  error_line_print(FAULT_OUTPUT, NULL, "%s: cannot be written: %s", path, strerror(errno));
  return CODE_OUTPUT;
}

static const struct {
  const char *name;
  bool (*write)(const sweep_found *, FILE *);
} reports[] = {{"sweep.csv", write_csv},
               {"sweep.md", write_markdown},
               {"sweep.html", sweep_page_write},
               {"curves.svg", sweep_curves_write},
               {"draws.csv", sweep_draws_write}};
enum { FILE_COUNT = sizeof reports / sizeof reports[0], CURVES = 3, DRAWS = 4 };

static bool has_file(const sweep_plan *plan, int file) {
  return file == CURVES ? sweep_curves_exist(plan) : file != DRAWS || plan->draws.key_count;
}

/* A file that this sweep does not have stays: it is another's, and the user is told. */
static void tell_of_others(const sweep_plan *plan) {
  char path[NAME_BYTES];
  for (int i = 0; i < FILE_COUNT; i++) {
    snprintf(path, sizeof path, "%s/%s", plan->folder, reports[i].name);
    if (!has_file(plan, i) && access(path, F_OK) == 0)
      fprintf(stderr, "pdhost: %s was there before and is not of this sweep; it stays as it is\n", path);
  }
}

int sweep_report_files(const sweep_found *self, const pd_measurements *rows, bool quiet) {
  char path[NAME_BYTES], names[256] = "sweep.json";
  snprintf(path, sizeof path, "%s/sweep.json", self->plan->folder);
  int code = measurement_file_write(path, rows->rows, rows->count);
  for (int i = 0; i < FILE_COUNT; i++) {
    if (!has_file(self->plan, i)) continue;
    const int written = write_file(self, reports[i].name, reports[i].write);
    snprintf(names + strlen(names), sizeof names - strlen(names), ", %s", reports[i].name);
    if (code == CODE_DONE) code = written;
  }
  if (code == CODE_DONE && !quiet) {
    fprintf(stderr, "pdhost: wrote %s/%s\n", self->plan->folder, names);
    tell_of_others(self->plan);
  }
  return code;
}
