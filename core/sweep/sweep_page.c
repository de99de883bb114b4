/* See sweep_page.h. */
#include "sweep_page.h"

#include "sweep_curves.h"

#include "page/html_charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 4096 };

static const char *time_of(double seconds, const sample *of, char text[64]) {
  const time_unit unit = statistics_unit(seconds);
  snprintf(text, 64, "%.4g %s", statistics_trim(seconds / unit.s, of->shown), unit.symbol);
  return text;
}

/* ---- every cell ---- */

static const char *standing_text(sweep_standing of) {
  switch (of) {
  case SWEEP_STANDING_TIE: return "not told apart from it";
  case SWEEP_STANDING_TOO_FEW: return "too few blocks to tell";
  case SWEEP_STANDING_TIMELESS: return "a time is zero";
  default: return "slower";
  }
}

static void write_row(html_page *page, const sample *of, const char *standing, double most_s) {
  const statistics *figures = &of->figures;
  char text[64];
  html_page_number(page, figures->median, time_of(figures->median, of, text));
  html_page_number(page, figures->p25, time_of(figures->p25, of, text));
  html_page_number(page, figures->p75, time_of(figures->p75, of, text));
  snprintf(text, sizeof text, "%llu", (unsigned long long)figures->count);
  html_page_number(page, (double)figures->count, text);
  html_page_cell(page, standing);
  html_charts_interval(page, figures->median, figures->p25, figures->p75, 0, most_s, 0);
}

static void write_table(html_page *page, const sweep_found *self, const sweep_standing *standings, double most_s) {
  const uint32_t best = sweep_found_extremes(self).best;
  char name[NAME_BYTES];
  html_page_card(page, "Every cell");
  html_page_table(page, "Every cell, its median and quartiles",
                  "Cell|Median|25 %|75 %|Blocks|Against the best|Median and quartiles");
  for (uint32_t i = 0; i < self->plan->cell_count; i++) {
    const sample *of = sweep_found_at(self, i);
    html_page_row(page, sweep_found_name(self, i, name, sizeof name));
    if (of)
      write_row(page, of, i == best ? "the best" : standing_text(standings[i]), most_s);
    else
      for (int c = 0; c < 6; c++) html_page_cell(page, c ? "" : "not measured");
    html_page_end_row(page);
  }
  html_page_end_table(page);
  html_page_end_card(page);
}

/* ---- two axes ---- */

/* The first two listed keys as a map of medians; further keys have their first value. */
static void write_map(html_page *page, const sweep_found *self, double least_s, double most_s) {
  const sweep_plan *plan = self->plan;
  if (plan->axis_count < 2 || plan->draws.key_count) return;
  const axis *down = &plan->axes[0], *across = &plan->axes[1];
  uint32_t inner = 1;
  for (uint32_t a = 2; a < plan->axis_count; a++) inner *= plan->axes[a].count;
  char caption[NAME_BYTES], text[64];
  const config_assignment first = sweep_plan_at(plan, 0, 0), second = sweep_plan_at(plan, 0, 1);
  snprintf(caption, sizeof caption, "Median by %s.%s (rows) and %s.%s (columns)%s", first.section, first.key,
           second.section, second.key, inner > 1 ? ", the other keys at their first value" : "");
  html_page_card(page, "Two keys as a map");
  html_page_markup(page, "<p>");
  html_page_text(page, caption);
  html_page_markup(page, ". The darker, the longer.</p>\n");
  html_page_table_begin(page, caption);
  html_page_heading(page, first.key);
  for (uint32_t c = 0; c < across->count; c++) html_page_heading(page, sweep_plan_at(plan, c * inner, 1).value);
  html_page_table_body(page);
  for (uint32_t r = 0; r < down->count; r++) {
    const uint32_t row = r * across->count * inner;
    html_page_row(page, sweep_plan_at(plan, row, 0).value);
    for (uint32_t c = 0; c < across->count; c++) {
      const sample *of = sweep_found_at(self, row + c * inner);
      const double median = of ? of->figures.median : NAN;
      html_page_heat(page, median, most_s > least_s ? (median - least_s) / (most_s - least_s) : 0,
                     of ? time_of(median, of, text) : "not measured");
    }
    html_page_end_row(page);
  }
  html_page_end_table(page);
  html_page_end_card(page);
}

/* ---- the whole ---- */

static void write_verdict(html_page *page, const sweep_found *self, uint32_t others) {
  char name[NAME_BYTES], text[64], sentence[NAME_BYTES + 256];
  const sweep_extremes at = sweep_found_extremes(self);
  const sample *best = sweep_found_at(self, at.best), *worst = sweep_found_at(self, at.worst);
  snprintf(sentence, sizeof sentence, "%s: %s: %s (%s)", others ? "Best, but not for certain" : "Best",
           sweep_found_name(self, at.best, name, sizeof name), time_of(best->figures.median, best, text), self->of);
  html_page_verdict(page, others ? "unknown" : "fine", sentence);
  if (others)
    html_page_markup(page, "<p>%u other cell%s not surely slower: the table below names %s.</p>\n", others,
                     others == 1 ? " is" : "s are", others == 1 ? "it" : "them");
  html_page_markup(page, "<p>The slowest cell takes ");
  html_page_text(page, time_of(worst->figures.median, worst, text));
  html_page_markup(page, ": ");
  html_page_text(page, sweep_found_name(self, at.worst, name, sizeof name));
  html_page_markup(page, ".</p>\n");
  html_page_end_card(page);
}

static bool write_curves(html_page *page, const sweep_found *self) {
  if (!sweep_curves_exist(self->plan)) return true;
  html_page_card(page, "Along the first key");
  html_page_markup(page, "<div class=\"picture\">");
  const bool ok = sweep_curves_write(self, page->out);
  html_page_markup(page, "</div>\n");
  html_page_end_card(page);
  return ok;
}

bool sweep_page_write(const sweep_found *self, FILE *out) {
  html_page page = {.out = out};
  const sweep_extremes at = sweep_found_extremes(self);
  const sample *best = sweep_found_at(self, at.best), *worst = sweep_found_at(self, at.worst);
  sweep_standing *standings = calloc(self->plan->cell_count + 1, sizeof *standings);
  bool ok = standings != NULL;
  uint32_t others = 0;
  double most_s = 0;
  for (uint32_t i = 0; i < self->plan->cell_count && ok; i++) {
    const sample *of = sweep_found_at(self, i);
    ok = sweep_found_standing(best, of, &standings[i]);
    others += standings[i] != SWEEP_STANDING_SLOWER;
    if (of && of->figures.p75 > most_s) most_s = of->figures.p75;
  }
  if (ok) {
    html_page_begin(&page, "Sweep", self->of);
    write_verdict(&page, self, others);
    ok = write_curves(&page, self);
    write_map(&page, self, best->figures.median, worst->figures.median);
    write_table(&page, self, standings, most_s);
    html_page_finish(&page);
  }
  free(standings);
  return ok && !ferror(out);
}
