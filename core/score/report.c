/* The score as a table; see report.h. */
#include "report.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

const report_figure report_figures[REPORT_FIGURES] = {
    {"macro_f1", "macro-F1", "", offsetof(figures_values, macro_f1)},
    {"accuracy", "accuracy", "", offsetof(figures_values, accuracy)},
    {"false_alarms", "false alarms on baselines", "%", offsetof(figures_values, false_alarms)},
    {"off_path_alarms", "false alarms off the path", "%", offsetof(figures_values, off_path_alarms)},
    {"error_median", "attribution error, median", "points", offsetof(figures_values, error_median)},
    {"error_p95", "attribution error, p95", "points", offsetof(figures_values, error_p95)},
    {"calibration", "calibration error", "%", offsetof(figures_values, calibration)},
    {"unknown", "unknown share of idle", "%", offsetof(figures_values, unknown)},
    {"fix_error", "predicted step, error median", "%", offsetof(figures_values, fix_error)},
    {"mixed_error", "two causes, error", "points", offsetof(figures_values, mixed_error)},
};

static bool is_seen(const figures *of, uint32_t cause) { return of->counts[cause].runs || of->counts[cause].named; }

/* "0.981 (0.957-1.000)"; percentages are shown as such. */
static void print_interval(const figures *of, const report_figure *figure, char *text, size_t room) {
  const double scale = figure->unit[0] == '%' ? 100 : 1;
  const int digits = figure->unit[0] ? 1 : 3;
  const double value = report_value(&of->value, figure);
  if (isnan(value))
    snprintf(text, room, "n/a");
  else
    snprintf(text, room, "%.*f (%.*f-%.*f)", digits, scale * value, digits, scale * report_value(&of->low, figure),
             digits, scale * report_value(&of->high, figure));
}

static void figures_of_parts(const score *self) {
  char text[64];
  printf("%-29s", "");
  for (uint32_t p = 0; p < self->part_count; p++) printf(" %22s", self->parts[p].title);
  printf("\n%-29s", "runs counted, of them baselines");
  for (uint32_t p = 0; p < self->part_count; p++) {
    snprintf(text, sizeof text, "%u, %u", self->parts[p].ours.counted, self->parts[p].ours.baselines);
    printf(" %*s", p ? 22 : 20, text);
  }
  printf("\n");
  for (uint32_t i = 0; i < REPORT_FIGURES; i++) {
    const report_figure *figure = &report_figures[i];
    char title[64];
    snprintf(title, sizeof title, "%s%s%s", figure->title, figure->unit[0] ? ", " : "", figure->unit);
    printf("%-29s", title);
    for (uint32_t p = 0; p < self->part_count; p++) {
      print_interval(&self->parts[p].ours, figure, text, sizeof text);
      printf(" %22s", text);
    }
    printf("\n");
  }
}

static void print_percent(double value) {
  if (isnan(value))
    printf(" %8s", "n/a");
  else
    printf(" %8.1f", 100 * value);
}

static void causes(const score *self, const figures *of) {
  printf("\n%-16s %6s %6s %6s %10s %8s %20s %8s %8s\n", "Cause", "Runs", "Named", "Right", "Precision", "Recall",
         "F1 (95 %)", "L50 (%)", "L95 (%)");
  for (uint32_t c = 0; c < of->causes; c++) {
    const cause_counts *counts = &of->counts[c];
    const cause_figures *value = &of->value.of[c];
    char f1[64];
    if (!is_seen(of, c)) continue;
    snprintf(f1, sizeof f1, "%.3f (%.3f-%.3f)", value->f1, of->low.of[c].f1, of->high.of[c].f1);
    printf("%-16s %6u %6u %6u %10.3f %8.3f %20s", self->causes.all[c], counts->runs, counts->named, counts->right,
           value->precision, value->recall, f1);
    print_percent(value->limit50);
    print_percent(value->limit95);
    printf("\n");
  }
  printf("L50, L95: smallest effect from which half (95 %%) of the runs are named; left-out runs count here too.\n");
}

static void confusion(const score *self, const figures *of) {
  printf("\nConfusion: rows are what was injected, columns are the verdict\n%-16s", "");
  for (uint32_t v = 0; v < of->causes; v++)
    if (is_seen(of, v)) printf(" %9.9s", self->causes.all[v]);
  printf("\n");
  for (uint32_t t = 0; t < of->causes; t++) {
    if (!of->counts[t].runs) continue;
    printf("%-16s", self->causes.all[t]);
    for (uint32_t v = 0; v < of->causes; v++)
      if (is_seen(of, v)) printf(" %9u", of->matrix[t][v]);
    printf("\n");
  }
}

static void calibration(const figures *of) {
  printf("\nCalibration: %13s %6s %10s\n", "confidence", "runs", "right");
  for (uint32_t b = 0; b < FIGURES_BINS; b++) {
    const calibration_bin *bin = &of->bins[b];
    if (!bin->runs) continue;
    printf("  %3u to %3u %% %10.1f %% %6u %8.1f %%\n", 100 * b / FIGURES_BINS, 100 * (b + 1) / FIGURES_BINS,
           100 * bin->confidence / bin->runs, bin->runs, 100.0 * bin->right / bin->runs);
  }
}

static void rivals(const score *self) {
  char text[64];
  printf("\n%-31s", "macro-F1 on the same runs");
  for (uint32_t p = 0; p < self->part_count; p++) printf(" %22s", self->parts[p].title);
  printf(" %13s\n", "false alarms");
  for (uint32_t r = 0; r <= RIVAL_COUNT; r++) {
    const figures *whole = r ? &self->parts[PART_ALL].rivals[r - 1] : &self->parts[PART_ALL].ours;
    printf("%-31s", r ? rival_all[r - 1]->title : "pdhost");
    for (uint32_t p = 0; p < self->part_count; p++) {
      print_interval(r ? &self->parts[p].rivals[r - 1] : &self->parts[p].ours, &report_figures[0], text, sizeof text);
      printf(" %22s", text);
    }
    if (isnan(whole->value.false_alarms))
      printf(" %13s\n", "n/a");
    else
      printf(" %11.1f %%\n", 100 * whole->value.false_alarms);
  }
}

/* What limits the score. */
static void wrong_cells(const score *self) {
  const char *title = "\nRuns judged wrong\n";
  for (uint32_t i = 0; i < self->corpus->cell_count; i++) {
    const judged *cell = &self->judged[i];
    char name[512];
    if (!(cell->counts && cell->truth != cell->verdict) && !(cell->off_path && cell->verdict != 0)) continue;
    corpus_cell_name(self->corpus, &self->corpus->cells[i], name, sizeof name);
    printf("%s%s: %s, effect %.1f %%, named with %.1f %%%s\n", title, name, self->causes.all[cell->verdict],
           100 * cell->effect, 100 * cell->share, cell->off_path ? " (off the path)" : "");
    title = "";
  }
}

void report_table(const score *self) {
  const figures *of = &self->parts[PART_ALL].ours;
  printf("Score of the verdict: %u runs, %u counted, %u off the path, %u with an effect below %.0f %% left out\n\n",
         self->corpus->cell_count, of->counted, of->off_path, of->left_out, 100 * self->corpus->min_effect);
  figures_of_parts(self);
  causes(self, of);
  confusion(self, of);
  calibration(of);
  rivals(self);
  wrong_cells(self);
}
