/* See score_page.h. */
#include "score_page.h"

#include "score_report.h"

#include "page/html_charts.h"

#include <math.h>
#include <string.h>

/* ---- figures ---- */

static void share_cell(html_page *page, double value, const char *unit) {
  char text[48] = "n/a";
  const bool percent = unit[0] == '%';
  if (!isnan(value)) snprintf(text, sizeof text, percent ? "%.1f %%" : "%.3f", percent ? 100 * value : value);
  html_page_number(page, value, text);
}

/* A share in numbers, and its interval as a bar. */
static void share_cells(html_page *page, double value, double low, double high, const char *unit) {
  share_cell(page, value, unit);
  html_charts_interval(page, value, low, high, 0, 1, 0);
}

static void write_figures(html_page *page, const score_part *part) {
  const figures *of = &part->ours;
  html_page_markup(page, "<p>%u runs count, %u of them baselines; %u were left out.</p>\n", of->counted, of->baselines,
                   of->left_out);
  html_page_table(page, "Figures of all causes together", "Figure|Value|95 % from|to|Unit|0 to 1");
  for (int i = 0; i < REPORT_FIGURES; i++) {
    const report_figure *figure = &report_figures[i];
    const double value = report_value(&of->value, figure), low = report_value(&of->low, figure),
                 high = report_value(&of->high, figure);
    const bool is_points = strcmp(figure->unit, "points") == 0;
    html_page_row(page, figure->title);
    share_cell(page, value, figure->unit);
    share_cell(page, low, figure->unit);
    share_cell(page, high, figure->unit);
    html_page_cell(page, is_points ? "percentage points" : figure->unit);
    if (is_points)
      html_page_cell(page, "");
    else
      html_charts_interval(page, value, low, high, 0, 1, 0);
    html_page_end_row(page);
  }
  html_page_end_table(page);
}

/* ---- causes ---- */

static bool is_seen(const figures *of, uint32_t cause) { return of->counts[cause].runs || of->counts[cause].named; }

static void write_causes(html_page *page, const score *self, const figures *of) {
  html_page_table(page, "Each cause", "Cause|Runs|Named|Right|Precision|Recall|F1|F1, 95 %");
  for (uint32_t c = 0; c < self->causes.count; c++) {
    const cause_counts *counts = &of->counts[c];
    char text[24];
    if (!is_seen(of, c)) continue;
    html_page_row(page, self->causes.all[c]);
    const uint32_t numbers[] = {counts->runs, counts->named, counts->right};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
      snprintf(text, sizeof text, "%u", numbers[i]);
      html_page_number(page, numbers[i], text);
    }
    share_cell(page, of->value.of[c].precision, "");
    share_cell(page, of->value.of[c].recall, "");
    share_cells(page, of->value.of[c].f1, of->low.of[c].f1, of->high.of[c].f1, "");
    html_page_end_row(page);
  }
  html_page_end_table(page);
}

/* Rows are what a run injected, columns what the verdict named; each cell is as dark as its share of the row. */
static void write_matrix(html_page *page, const score *self, const figures *of) {
  char headings[2048] = "Injected";
  for (uint32_t v = 0; v < self->causes.count; v++) {
    const size_t used = strlen(headings);
    if (is_seen(of, v)) snprintf(headings + used, sizeof headings - used, "|%s", self->causes.all[v]);
  }
  html_page_table(page, "Confusion matrix: runs by what was injected and what the verdict named", headings);
  for (uint32_t t = 0; t < self->causes.count; t++) {
    if (!is_seen(of, t)) continue;
    html_page_row(page, self->causes.all[t]);
    for (uint32_t v = 0; v < self->causes.count; v++) {
      const uint32_t runs = of->matrix[t][v];
      char text[24] = "";
      if (!is_seen(of, v)) continue;
      if (runs) snprintf(text, sizeof text, "%u", runs);
      html_page_heat(page, runs, of->counts[t].runs ? (double)runs / of->counts[t].runs : 0, text);
    }
    html_page_end_row(page);
  }
  html_page_end_table(page);
}

static void write_rivals(html_page *page, const score_part *part) {
  html_page_table(page, "pdhost and what other tools' rules say of the same windows",
                  "Tool|Macro-F1|Macro-F1, 95 %|False alarms|False alarms, 95 %");
  for (uint32_t r = 0; r <= RIVAL_COUNT; r++) {
    const figures *of = r ? &part->rivals[r - 1] : &part->ours;
    html_page_row(page, r ? rival_all[r - 1]->title : "pdhost");
    share_cells(page, of->value.macro_f1, of->low.macro_f1, of->high.macro_f1, "");
    share_cells(page, of->value.false_alarms, of->low.false_alarms, of->high.false_alarms, "%");
    html_page_end_row(page);
  }
  html_page_end_table(page);
}

/* A card whose heading ends with the part's title. */
static void begin_card(html_page *page, const char *what, const score_part *part) {
  char heading[128];
  snprintf(heading, sizeof heading, "%s: %s", what, part->title);
  html_page_card(page, heading);
}

static void write_part(html_page *page, const score *self, const score_part *part) {
  begin_card(page, "What the verdict named", part);
  write_matrix(page, self, &part->ours);
  html_page_end_card(page);
  begin_card(page, "How often it was right", part);
  write_figures(page, part);
  html_page_end_card(page);
  begin_card(page, "Each cause", part);
  write_causes(page, self, &part->ours);
  html_page_end_card(page);
  begin_card(page, "Other tools", part);
  write_rivals(page, part);
  html_page_end_card(page);
}

bool score_page_write(const score *self, FILE *out) {
  html_page page = {.out = out};
  char sentence[192] = "No run of the corpus tells how often the verdict is right";
  const figures *first = &self->parts[0].ours;
  const figures_values *of = &first->value;
  html_page_begin(&page, "Score of the verdict", "on runs whose cause is known");
  if (!isnan(of->accuracy))
    snprintf(sentence, sizeof sentence, "%.1f %% of the verdicts on %u runs are right (95 %%: %.1f to %.1f)",
             100 * of->accuracy, first->counted, 100 * first->low.accuracy, 100 * first->high.accuracy);
  html_page_verdict(&page, "unknown", sentence);
  html_page_end_card(&page);
  for (uint32_t p = 0; p < self->part_count; p++) write_part(&page, self, &self->parts[p]);
  html_page_finish(&page);
  return !ferror(out);
}
