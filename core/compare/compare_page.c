/* See compare_page.h. */
#include "compare_page.h"

#include "page/html_charts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 512, LINES_MOST = 40 };

/* ---- pairs ---- */

static const char *tone_of(const sample_pairs *pairs) {
  bool unclear = !pairs->count;
  for (uint32_t i = 0; i < pairs->count; i++) {
    if (pairs->all[i].verdict == OUTCOME_SLOWER) return "found";
    unclear = unclear || pairs->all[i].verdict == OUTCOME_UNCLEAR;
  }
  return unclear ? "unknown" : "fine";
}

/* "B in 4 comparisons: 1 SLOWER, 3 SAME". */
static void count_verdicts(const sample_pairs *pairs, char *out, size_t room) {
  static const outcome order[] = {OUTCOME_SLOWER, OUTCOME_FASTER, OUTCOME_UNCLEAR, OUTCOME_SAME};
  size_t used = (size_t)snprintf(out, room, "B in %u comparisons", pairs->count);
  const char *before = ": ";
  for (size_t o = 0; o < sizeof order / sizeof order[0] && used < room; o++) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < pairs->count; i++) count += pairs->all[i].verdict == order[o];
    if (!count) continue;
    used += (size_t)snprintf(out + used, room - used, "%s%u %s", before, count, comparison_word(order[o]));
    before = ", ";
  }
}

static void write_verdict(html_page *page, const compare_report *self) {
  char title[NAME_BYTES], a[NAME_BYTES], b[NAME_BYTES], text[4 * NAME_BYTES], sentence[6 * NAME_BYTES];
  const sample_pairs *pairs = self->pairs;
  if (!pairs->count) {
    snprintf(sentence, sizeof sentence, "No two samples have a task in common");
  } else if (pairs->count > 1) {
    count_verdicts(pairs, sentence, sizeof sentence);
  } else {
    const sample_pair *at = &pairs->all[0];
    sample_pair_side(self->from, at->a, at->b, a, sizeof a);
    sample_pair_side(self->from, at->b, at->a, b, sizeof b);
    if (at->timeless)
      snprintf(text, sizeof text, "a time is zero: there is no ratio");
    else
      comparison_sentence(&at->of, a, b, text, sizeof text);
    snprintf(sentence, sizeof sentence, "%s: %s: %s", comparison_word(at->verdict),
             sample_pair_title(at, title, sizeof title), text);
  }
  html_page_verdict(page, tone_of(pairs), sentence);
  html_page_end_card(page);
}

/* Ratios on an axis of their logarithms, 1 in its middle. */
static void write_pairs(html_page *page, const compare_report *self) {
  const sample_pairs *pairs = self->pairs;
  char name[NAME_BYTES], text[64];
  double reach = 0.01;
  if (!pairs->count) return;
  for (uint32_t i = 0; i < pairs->count; i++)
    if (!pairs->all[i].timeless && pairs->all[i].of.low > 0)
      reach = fmax(reach, fmax(fabs(log(pairs->all[i].of.low)), fabs(log(pairs->all[i].of.high))));
  html_page_card(page, "B against A");
  html_page_markup(page, "<p>The time of B over that of A; below 1, B is faster.</p>\n");
  html_page_table(page, "B against A", "Task|A|B|Verdict|Ratio|95 % from|to|p|Less or more than 1");
  for (uint32_t i = 0; i < pairs->count; i++) {
    const sample_pair *at = &pairs->all[i];
    const double figures[] = {at->of.ratio, at->of.low, at->of.high, at->of.p};
    html_page_row(page, sample_pair_title(at, name, sizeof name));
    html_page_cell(page, sample_pair_side(self->from, at->a, at->b, name, sizeof name));
    html_page_cell(page, sample_pair_side(self->from, at->b, at->a, name, sizeof name));
    html_page_cell(page, comparison_word(at->verdict));
    for (size_t k = 0; k < sizeof figures / sizeof *figures; k++) {
      text[0] = '\0';
      if (!at->timeless) snprintf(text, sizeof text, "%.4f", figures[k]);
      html_page_number(page, at->timeless ? NAN : figures[k], text);
    }
    if (at->timeless || at->of.low <= 0)
      html_page_cell(page, "");
    else
      html_charts_interval(page, log(at->of.ratio), log(at->of.low), log(at->of.high), -reach, reach, 0);
    html_page_end_row(page);
  }
  html_page_end_table(page);
  html_page_end_card(page);
}

/* ---- samples ---- */

static const char *name_of(const compare_report *self, const sample *of, char text[2 * NAME_BYTES]) {
  char title[NAME_BYTES];
  snprintf(text, (size_t)2 * NAME_BYTES, "%s%s%s", self->from->file_count > 1 ? self->from->names[of->file] : "",
           self->from->file_count > 1 ? ": " : "", sample_title(of, true, title, sizeof title));
  return text;
}

/* False on no memory. */
static bool write_dots(html_page *page, const compare_report *self) {
  const samples *from = self->from;
  const uint32_t count = from->count < LINES_MOST ? from->count : LINES_MOST;
  html_dots lines[LINES_MOST];
  double *all[LINES_MOST];
  char names[LINES_MOST][2 * NAME_BYTES];
  double least = INFINITY;
  uint32_t made = 0;
  bool ok = true;
  for (uint32_t i = 0; i < count; i++) least = fmin(least, from->all[i].figures.median);
  const time_unit unit = statistics_unit(isfinite(least) && least > 0 ? least : 1);
  for (; made < count && ok; made++) {
    const sample *of = &from->all[made];
    double *values = all[made] = malloc((of->figures.count + 1) * sizeof *values);
    ok = values != NULL;
    for (uint64_t v = 0; v < of->figures.count && ok; v++) values[v] = of->times[v] / unit.s;
    lines[made] = (html_dots){name_of(self, of, names[made]), values, of->figures.count, of->figures.median / unit.s};
  }
  if (ok && count) {
    html_page_card(page, "Each time as a dot");
    if (count < from->count) html_page_markup(page, "<p>The first %u of %u samples.</p>\n", count, from->count);
    html_charts_dots(page, "Each time as a dot; the line is the median", lines, count, unit.symbol);
    html_page_end_card(page);
  }
  for (uint32_t i = 0; i < made; i++) free(all[i]);
  return ok;
}

static void write_samples(html_page *page, const compare_report *self) {
  char name[2 * NAME_BYTES], text[64];
  html_page_card(page, "Every sample");
  html_page_table(page, "Every sample", "Sample|Median|Mean|IQR|25 %|75 %|99 %|Min|Max|Blocks");
  for (uint32_t i = 0; i < self->from->count; i++) {
    const sample *of = &self->from->all[i];
    const statistics *is = &of->figures;
    const double times[] = {is->median, is->mean, is->iqr, is->p25, is->p75, is->p99, is->min, is->max};
    html_page_row(page, name_of(self, of, name));
    for (size_t k = 0; k < sizeof times / sizeof *times; k++) {
      const time_unit unit = statistics_unit(times[k]);
      snprintf(text, sizeof text, "%.4g %s", statistics_trim(times[k] / unit.s, of->shown), unit.symbol);
      html_page_number(page, times[k], text);
    }
    snprintf(text, sizeof text, "%llu", (unsigned long long)is->count);
    html_page_number(page, (double)is->count, text);
    html_page_end_row(page);
  }
  html_page_end_table(page);
  html_page_end_card(page);
}

pd_status compare_page_write(const compare_report *self, const char *path, error *err) {
  html_page page;
  const pd_status status = html_page_open(&page, path, "Comparison", "of measurements", err);
  if (status != PD_OK) return status;
  write_verdict(&page, self);
  const bool ok = write_dots(&page, self);
  write_pairs(&page, self);
  write_samples(&page, self);
  return html_page_close(&page, ok, err);
}
