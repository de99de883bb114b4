/* The score as a table; see score_report.h. */
#include "score_report.h"

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
    {"own_fix_error", "  of the scenario's own cure", "%", offsetof(figures_values, own_fix_error)},
    {"core_fix_error", "  of settings of the core", "%", offsetof(figures_values, core_fix_error)},
    {"gain_error_median", "gain against its cure, median", "points", offsetof(figures_values, gain_error_median)},
    {"gain_error_p95", "gain against its cure, p95", "points", offsetof(figures_values, gain_error_p95)},
    {"mixed_error", "two causes, error", "points", offsetof(figures_values, mixed_error)},
};

static bool is_seen(const figures *of, uint32_t cause) { return of->counts[cause].runs || of->counts[cause].named; }

/* "0.981 (0.957-1.000)", or n/a where there is no run to tell. */
static const char *with_interval(double value, double low, double high, double scale, int digits, char *text,
                                 size_t room) {
  if (isnan(value) || isnan(low) || isnan(high))
    snprintf(text, room, "n/a");
  else
    snprintf(text, room, "%.*f (%.*f-%.*f)", digits, scale * value, digits, scale * low, digits, scale * high);
  return text;
}

/* Percentages are shown as such. */
static const char *interval_of(const figures *of, const report_figure *figure, char *text, size_t room) {
  return with_interval(report_value(&of->value, figure), report_value(&of->low, figure),
                       report_value(&of->high, figure), figure->unit[0] == '%' ? 100 : 1, figure->unit[0] ? 1 : 3, text,
                       room);
}

enum { TITLE_WIDTH = 33, INTERVAL_WIDTH = 22 };

static void figures_of_parts(const score *self) {
  char text[64];
  printf("%-*s", TITLE_WIDTH, "");
  for (uint32_t p = 0; p < self->part_count; p++) printf(" %*s", INTERVAL_WIDTH, self->parts[p].title);
  printf("\n%-*s", TITLE_WIDTH, "runs counted, of them baselines");
  for (uint32_t p = 0; p < self->part_count; p++) {
    snprintf(text, sizeof text, "%u, %u", self->parts[p].ours.counted, self->parts[p].ours.baselines);
    printf(" %*s", INTERVAL_WIDTH, text);
  }
  printf("\n%-*s", TITLE_WIDTH, "fixes: own, core, no step, slower");
  for (uint32_t p = 0; p < self->part_count; p++) {
    const figures *of = &self->parts[p].ours;
    snprintf(text, sizeof text, "%u, %u, %u, %u", of->own_tried, of->tried - of->own_tried, of->fixes_without_step,
             of->fixes_slower);
    printf(" %*s", INTERVAL_WIDTH, text);
  }
  printf("\n%-*s", TITLE_WIDTH, "gains: judged, saving unknown");
  for (uint32_t p = 0; p < self->part_count; p++) {
    snprintf(text, sizeof text, "%u, %u", self->parts[p].ours.gains, self->parts[p].ours.unknown_gains);
    printf(" %*s", INTERVAL_WIDTH, text);
  }
  printf("\n");
  for (uint32_t i = 0; i < REPORT_FIGURES; i++) {
    const report_figure *figure = &report_figures[i];
    snprintf(text, sizeof text, "%s%s%s", figure->title, figure->unit[0] ? ", " : "", figure->unit);
    printf("%-*s", TITLE_WIDTH, text);
    for (uint32_t p = 0; p < self->part_count; p++)
      printf(" %*s", INTERVAL_WIDTH, interval_of(&self->parts[p].ours, figure, text, sizeof text));
    printf("\n");
  }
  printf(
      "95 %% intervals: of accuracy and false alarms Wilson's, else by resampling the runs, which gives F1 no width\n"
      "where no run is wrong. Attribution error: of right verdicts alone. Fixes: the scenario's own cure leaves its\n"
      "injection out. Saving unknown: its 95 %% interval is wider than 10 points, or the\n"
      "machine had changed its pace.\n");
}

/* "0.981", "n/a". */
static void print_number(int width, int digits, double value) {
  if (isnan(value))
    printf(" %*s", width, "n/a");
  else
    printf(" %*.*f", width, digits, value);
}

static void causes(const score *self, const figures *of) {
  printf("\n%-16s %6s %6s %6s %10s %8s %20s %8s %8s\n", "Cause", "Runs", "Named", "Right", "Precision", "Recall",
         "F1 (95 %)", "L50 (%)", "L95 (%)");
  for (uint32_t c = 0; c < of->causes; c++) {
    const cause_counts *counts = &of->counts[c];
    const cause_figures *value = &of->value.of[c];
    char f1[64];
    if (!is_seen(of, c)) continue;
    printf("%-16s %6u %6u %6u", self->causes.all[c], counts->runs, counts->named, counts->right);
    print_number(10, 3, value->precision);
    print_number(8, 3, value->recall);
    printf(" %20s", with_interval(value->f1, of->low.of[c].f1, of->high.of[c].f1, 1, 3, f1, sizeof f1));
    print_number(8, 1, 100 * value->limit50);
    print_number(8, 1, 100 * value->limit95);
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
  printf("\nCalibration: %13s %6s %10s\n", "repeatable", "runs", "right");
  for (uint32_t b = 0; b < FIGURES_BINS; b++) {
    const calibration_bin *bin = &of->bins[b];
    if (!bin->runs) continue;
    printf("  %3u to %3u %% %10.1f %% %6u %8.1f %%\n", 100 * b / FIGURES_BINS, 100 * (b + 1) / FIGURES_BINS,
           100 * bin->repeatable / bin->runs, bin->runs, 100.0 * bin->right / bin->runs);
  }
}

static void rivals(const score *self) {
  char text[64];
  printf("\n%-*s", TITLE_WIDTH, "macro-F1 on the same runs");
  for (uint32_t p = 0; p < self->part_count; p++) printf(" %*s", INTERVAL_WIDTH, self->parts[p].title);
  printf(" %*s\n", INTERVAL_WIDTH, "false alarms, all, %");
  for (uint32_t r = 0; r <= RIVAL_COUNT; r++) {
    printf("%-*s", TITLE_WIDTH, r ? rival_all[r - 1]->title : "pdhost");
    for (uint32_t p = 0; p <= self->part_count; p++) {
      const score_part *part = &self->parts[p < self->part_count ? p : PART_ALL];
      const report_figure *figure = &report_figures[p < self->part_count ? REPORT_MACRO_F1 : REPORT_FALSE_ALARMS];
      printf(" %*s", INTERVAL_WIDTH, interval_of(r ? &part->rivals[r - 1] : &part->ours, figure, text, sizeof text));
    }
    printf("\n");
  }
}

/* What limits the score. */
static void wrong_cells(const score *self) {
  const char *title = "\nRuns judged wrong\n";
  for (uint32_t i = 0; i < self->corpus->cell_count; i++) {
    const judged *cell = &self->judged[i];
    char name[512];
    if (!(cell->counts && cell->truth != cell->verdict) && !(cell->off_path && !cell->untold && cell->verdict != 0))
      continue;
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
