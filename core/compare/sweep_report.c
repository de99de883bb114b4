/* See sweep_report.h. */
#include "sweep_report.h"

#include "comparison.h"
#include "render.h"
#include "svg_curves.h"

#include "host/log.h"
#include "host/measurement_file.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 4096, BAR_WIDTH = 40, TIES_NAMED = 4 };
#define SEED 1

static bool no_memory(error *err) {
  error_set(err, PD_NO_MEMORY, CODE_INTERNAL, "out of memory");
  return false;
}

/* The sample of a cell; NULL: not measured. */
static const sample *sample_of(const sweep_report *self, uint32_t cell) {
  for (uint32_t i = 0; i < self->from->count && self->cells[cell]; i++)
    if (self->from->all[i].of == self->cells[cell]) return &self->from->all[i];
  return NULL;
}

static const char *whole_name(const sweep_report *self, uint32_t cell, char text[NAME_BYTES]) {
  return sweep_plan_name(self->plan, cell, 0, self->plan->axis_count, text, NAME_BYTES);
}

/* ---- the best ---- */

typedef struct extremes {
  uint32_t best, worst; /* cells; cell_count: none was measured */
} extremes;

static extremes find_extremes(const sweep_report *self) {
  extremes found = {self->plan->cell_count, self->plan->cell_count};
  double least = INFINITY, most = -1;
  for (uint32_t i = 0; i < self->plan->cell_count; i++) {
    const sample *at = sample_of(self, i);
    if (!at) continue;
    if (at->figures.median < least) {
      least = at->figures.median;
      found.best = i;
    }
    if (at->figures.median > most) {
      most = at->figures.median;
      found.worst = i;
    }
  }
  return found;
}

/* How a cell stands to the best one. */
typedef enum standing { STANDING_SLOWER, STANDING_TIE, STANDING_TOO_FEW, STANDING_TIMELESS } standing;

static uint64_t fewer_blocks(const sample *a, const sample *b) {
  return a->figures.count < b->figures.count ? a->figures.count : b->figures.count;
}

/* With fewer blocks than a direction needs, one that was not found says nothing. */
static bool find_standing(const sample *best, const sample *at, standing *out) {
  resample_ratio ratio;
  *out = STANDING_SLOWER;
  if (!at || at == best) return true;
  if (!(at->figures.min > 0) || !(best->figures.min > 0)) {
    *out = STANDING_TIMELESS;
    return true;
  }
  if (!resample_unpaired(best->times, best->figures.count, at->times, at->figures.count, SEED, &ratio)) return false;
  const uint64_t count = fewer_blocks(best, at);
  const outcome found = comparison_outcome(&ratio, count, COMPARISON_MARGIN);
  if (found == OUTCOME_UNCLEAR && count < COMPARISON_DIRECTION_LEAST)
    *out = STANDING_TOO_FEW;
  else if (found != OUTCOME_SLOWER)
    *out = STANDING_TIE;
  return true;
}

/* The cells that stand so, some of them by name. */
static void print_standing(const sweep_report *self, const standing *all, standing wanted, const char *heading) {
  char name[NAME_BYTES];
  uint32_t count = 0;
  for (uint32_t i = 0; i < self->plan->cell_count; i++) {
    if (all[i] != wanted || count++ >= TIES_NAMED) continue;
    printf("%*s %s\n", (int)strlen(heading), count == 1 ? heading : "", whole_name(self, i, name));
  }
  if (count > TIES_NAMED) printf("%*s and %u more\n", (int)strlen(heading), "", count - TIES_NAMED);
}

/* The least blocks among the best and those that have too few, and what gives more. */
static void print_too_few(const sweep_report *self, const standing *all, const sample *best) {
  char heading[64];
  uint64_t least = best->figures.count;
  bool any = false;
  for (uint32_t i = 0; i < self->plan->cell_count; i++) {
    if (all[i] != STANDING_TOO_FEW) continue;
    const uint64_t count = fewer_blocks(best, sample_of(self, i));
    least = count < least ? count : least;
    any = true;
  }
  if (!any) return;
  snprintf(heading, sizeof heading, "too few blocks (%llu of %d) to tell it from:", (unsigned long long)least,
           COMPARISON_DIRECTION_LEAST);
  print_standing(self, all, STANDING_TOO_FEW, heading);
  printf("raise %s for more blocks\n",
         strncmp(best->of->method, "sweep", 5) == 0 ? "schedule.active" : "benchmark.min_blocks");
}

/* Cells that the data do not tell from the best. */
static bool print_ties(const sweep_report *self, uint32_t best, error *err) {
  const sample *against = sample_of(self, best);
  standing *all = calloc(self->plan->cell_count, sizeof *all);
  bool ok = all != NULL;
  for (uint32_t i = 0; ok && i < self->plan->cell_count; i++) ok = find_standing(against, sample_of(self, i), &all[i]);
  if (ok) {
    print_standing(self, all, STANDING_TIE, "not told apart from it:");
    print_too_few(self, all, against);
    print_standing(self, all, STANDING_TIMELESS, "a time is zero, so there is no ratio to:");
  }
  free(all);
  return ok || no_memory(err);
}

static bool print_best(const sweep_report *self, error *err) {
  char name[NAME_BYTES];
  const extremes at = find_extremes(self);
  const sample *best = sample_of(self, at.best), *worst = sample_of(self, at.worst);
  const time_unit unit = statistics_unit(best->figures.median);
  printf("\nBest: %s: %.4g %s, %.2f of the slowest (%s)\n", whole_name(self, at.best, name),
         statistics_trim(best->figures.median / unit.s, best->figures.figures), unit.symbol,
         worst->figures.median > 0 ? best->figures.median / worst->figures.median : 1, self->of);
  return print_ties(self, at.best, err);
}

/* ---- curves ---- */

/* One series per combination of all axes but the first. */
static uint32_t series_count(const sweep_plan *plan) {
  const uint32_t points = plan->axes[0].count;
  return points ? plan->cell_count / points : 0;
}
static uint32_t cell_at(const sweep_plan *plan, uint32_t series, uint32_t x) { return x * series_count(plan) + series; }

static void print_bars(const sweep_report *self) {
  const sweep_plan *plan = self->plan;
  const extremes at = find_extremes(self);
  const double most = sample_of(self, at.worst)->figures.median;
  int width = 0;
  for (uint32_t x = 0; x < plan->axes[0].count; x++)
    width = (int)strlen(plan->axes[0].values[x]) > width ? (int)strlen(plan->axes[0].values[x]) : width;
  for (uint32_t series = 0; series < series_count(plan); series++) {
    char name[NAME_BYTES];
    sweep_plan_name(plan, series, 1, plan->axis_count, name, sizeof name);
    printf("\n%s.%s%s%s\n", plan->axes[0].section, plan->axes[0].key, name[0] ? " with " : "", name);
    for (uint32_t x = 0; x < plan->axes[0].count; x++) {
      const sample *of = sample_of(self, cell_at(plan, series, x));
      const int bar = of && most > 0 ? (int)lround(BAR_WIDTH * of->figures.median / most) : 0;
      printf("  %*s  %.*s", width, plan->axes[0].values[x], bar, "########################################");
      const time_unit unit = statistics_unit(of ? of->figures.median : 1);
      if (of)
        printf(" %.4g %s\n", statistics_trim(of->figures.median / unit.s, of->figures.figures), unit.symbol);
      else
        printf("not measured\n");
    }
  }
}

typedef struct curve_data {
  svg_series *series;
  char **names;
  double *values; /* of each series: y, low, high */
} curve_data;

static void free_curves(curve_data *data, uint32_t count) {
  for (uint32_t i = 0; data->names && i < count; i++) free(data->names[i]);
  free(data->names);
  free(data->series);
  free(data->values);
}

static bool make_curves(const sweep_report *self, double unit_s, curve_data *data) {
  const sweep_plan *plan = self->plan;
  const uint32_t count = series_count(plan), points = plan->axes[0].count;
  *data = (curve_data){.series = calloc(count + 1u, sizeof *data->series),
                       .names = calloc(count + 1u, sizeof(void *)),
                       .values = calloc((size_t)3 * count * points + 1, sizeof *data->values)};
  if (!data->series || !data->names || !data->values) return false;
  for (uint32_t i = 0; i < count; i++) {
    char name[NAME_BYTES];
    double *y = data->values + (size_t)3 * i * points, *low = y + points, *high = low + points;
    data->names[i] = strdup(sweep_plan_name(plan, i, 1, plan->axis_count, name, sizeof name));
    if (!data->names[i]) return false;
    for (uint32_t x = 0; x < points; x++) {
      const sample *of = sample_of(self, cell_at(plan, i, x));
      y[x] = of ? of->figures.median / unit_s : (double)NAN;
      low[x] = of ? of->figures.p25 / unit_s : 0;
      high[x] = of ? of->figures.p75 / unit_s : 0;
    }
    data->series[i] =
        (svg_series){.name = data->names[i][0] ? data->names[i] : self->of, .y = y, .low = low, .high = high};
  }
  return true;
}

static bool write_svg(const sweep_report *self, FILE *out) {
  char title[NAME_BYTES], x_name[NAME_BYTES], y_name[128];
  const sweep_plan *plan = self->plan;
  const sample *best = sample_of(self, find_extremes(self).best);
  const time_unit unit = statistics_unit(best->figures.median);
  curve_data data;
  const bool ok = make_curves(self, unit.s, &data);
  snprintf(title, sizeof title, "%s on %s", sample_label(best), best->of->device);
  snprintf(x_name, sizeof x_name, "%s.%s", plan->axes[0].section, plan->axes[0].key);
  snprintf(y_name, sizeof y_name, "%s, %s (median and quartiles)", self->of, unit.symbol);
  const svg_curves picture = {.title = title,
                              .x_name = x_name,
                              .y_name = y_name,
                              .x = plan->axes[0].values,
                              .x_count = plan->axes[0].count,
                              .series_count = series_count(plan),
                              .series = data.series};
  if (ok) svg_curves_write(&picture, out);
  free_curves(&data, series_count(plan));
  return ok;
}

/* ---- the whole ---- */

bool sweep_report_text(const sweep_report *self, bool color, error *err) {
  grids tables;
  if (!grids_make(self->from, &tables)) return no_memory(err);
  for (uint32_t i = 0; i < tables.count; i++) {
    if (i) putchar('\n');
    render_text(&tables.all[i], color, stdout);
  }
  grids_free(&tables);
  if (!print_best(self, err)) return false;
  print_bars(self);
  return true;
}

static bool write_csv(const sweep_report *self, FILE *out) {
  grids tables;
  if (!grids_make(self->from, &tables)) return false;
  render_csv_heading(out);
  for (uint32_t i = 0; i < tables.count; i++) render_csv(&tables.all[i], self->from, out);
  grids_free(&tables);
  return true;
}

static bool write_markdown(const sweep_report *self, FILE *out) {
  grids tables;
  if (!grids_make(self->from, &tables)) return false;
  for (uint32_t i = 0; i < tables.count; i++) render_markdown(&tables.all[i], out);
  grids_free(&tables);
  return true;
}

/* By a temporary name, then renamed. */
static int write_file(const sweep_report *self, const char *name, bool (*write)(const sweep_report *, FILE *)) {
  char path[NAME_BYTES], temporary[NAME_BYTES + 16];
  snprintf(path, sizeof path, "%s/%s", self->plan->folder, name);
  snprintf(temporary, sizeof temporary, "%s.partial", path);
  FILE *out = fopen(temporary, "w");
  bool ok = out && write(self, out);
  if (out) ok = !ferror(out) && ok;
  if (out) ok = fclose(out) == 0 && ok;
  if (ok && rename(temporary, path) == 0) return CODE_DONE;
  log_line(PD_LOG_ERROR, NULL, "%s: cannot be written: %s", path, strerror(errno));
  (void)remove(temporary);
  return CODE_OUTPUT;
}

int sweep_report_files(const sweep_report *self, const pd_measurements *rows) {
  static const struct {
    const char *name;
    bool (*write)(const sweep_report *, FILE *);
  } files[] = {{"sweep.csv", write_csv}, {"sweep.md", write_markdown}, {"curves.svg", write_svg}};
  char path[NAME_BYTES];
  snprintf(path, sizeof path, "%s/sweep.json", self->plan->folder);
  int code = measurement_file_write(path, rows->rows, rows->count);
  for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
    const int written = write_file(self, files[i].name, files[i].write);
    if (code == CODE_DONE) code = written;
  }
  return code;
}
