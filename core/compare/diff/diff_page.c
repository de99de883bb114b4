/* See diff_page.h. */
#include "diff_page.h"

#include "diff_words.h"

#include "page/html_charts.h"

#include <pdhost/quantity.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- a row: A, B, the change with its interval ---- */

typedef struct row {
  const char *name, *about; /* about: NULL: the table has no such column */
  double ns[2];
  resample_change change;
} row;

static void time_cell(html_page *page, double ns) {
  char text[64];
  pd_text_time(text, sizeof text, ns);
  html_page_number(page, ns, text);
}

static void write_row(html_page *page, const row *of, double most_ns) {
  const bool is_known = of->change.low < of->change.high;
  char change[64], interval[160] = "", low[64], high[64];
  pd_text_time(change, sizeof change, of->change.change);
  html_page_row(page, of->name);
  if (of->about) html_page_cell(page, of->about);
  time_cell(page, of->ns[0]);
  time_cell(page, of->ns[1]);
  html_page_number(page, of->change.change, change);
  if (is_known) {
    pd_text_time(low, sizeof low, of->change.low);
    pd_text_time(high, sizeof high, of->change.high);
    snprintf(interval, sizeof interval, "%s to %s", low, high);
  }
  html_page_cell(page, interval);
  html_charts_interval(page, of->change.change, is_known ? of->change.low : NAN, is_known ? of->change.high : NAN,
                       -most_ns, most_ns, 0);
  html_page_end_row(page);
}

static double reach(const resample_change *of) {
  return fmax(fabs(of->change), of->low < of->high ? fmax(fabs(of->low), fabs(of->high)) : 0);
}

#define HEADINGS "|A|B|Change|95 % interval|Less or more than in A"

/* ---- the tables ---- */

/* What a row of a list is beyond its name. */
static const char *about_of(const diff_row *of) {
  if (!of->shapes[0]) return "new in B";
  if (!of->shapes[1]) return "gone in B";
  return strcmp(of->shapes[0], of->shapes[1]) != 0 ? "other shape" : of->shapes[0];
}

static void write_list(html_page *page, const difference *self, diff_kind kind, const char *title) {
  const diff_list *of = &self->lists[kind];
  double most_ns = 0;
  if (!of->count) return;
  for (uint32_t i = 0; i < of->count; i++) most_ns = fmax(most_ns, reach(&of->rows[i].change));
  html_page_card(page, title);
  html_page_markup(page, "<p>%u on both sides differ, %u are new and %u are gone in B.</p>\n", of->changed, of->added,
                   of->gone);
  html_page_table(page, title, kind == DIFF_LEDGER ? "Part" HEADINGS : "Name|Shape" HEADINGS);
  for (uint32_t i = 0; i < of->count; i++) {
    const diff_row *at = &of->rows[i];
    write_row(page, &(row){at->name, kind == DIFF_LEDGER ? NULL : about_of(at), {at->ns[0], at->ns[1]}, at->change},
              most_ns);
  }
  html_page_end_table(page);
  html_page_end_card(page);
}

static void write_causes(html_page *page, const difference *self) {
  double most_ns = 0;
  if (!self->cause_count) return;
  for (uint32_t i = 0; i < self->cause_count; i++) most_ns = fmax(most_ns, reach(&self->causes[i].change));
  html_page_card(page, "What a step would save without a cause");
  html_page_table(page, "What a step would save without a cause", "Cause" HEADINGS);
  for (uint32_t i = 0; i < self->cause_count; i++) {
    const diff_cause *at = &self->causes[i];
    write_row(page, &(row){verdict_text(at->cause), NULL, {at->gains[0].ns, at->gains[1].ns}, at->change}, most_ns);
  }
  html_page_end_table(page);
  html_page_end_card(page);
}

/* ---- the steps ---- */

/* False on no memory. */
static bool write_steps(html_page *page, const difference *self) {
  html_dots lines[2];
  double *all[2] = {NULL, NULL};
  bool ok = true;
  for (int side = 0; side < 2 && ok; side++) {
    const diff_side *of = self->sides[side];
    all[side] = malloc((of->step_count + 1) * sizeof *all[side]);
    ok = all[side] != NULL;
    for (uint32_t i = 0; i < of->step_count && ok; i++) all[side][i] = 1e-6 * of->step_ns[i];
    lines[side] = (html_dots){side ? "B" : "A", all[side], of->step_count, 1e-6 * self->median_ns[side]};
  }
  if (ok) {
    const char *subject = diff_words_subject(self);
    char title[64], about[96], mean[64], median[64];
    snprintf(title, sizeof title, "Each %s as a dot", subject);
    snprintf(about, sizeof about, "Time of each %s of A and of B; the line is the median", subject);
    snprintf(mean, sizeof mean, "Whole %s, mean", subject);
    snprintf(median, sizeof median, "Whole %s, median", subject);
    html_page_card(page, title);
    html_charts_dots(page, about, lines, 2, "ms");
    html_page_table(page, title, "Time" HEADINGS);
    const resample_change medians = {.change = self->median_ns[1] - self->median_ns[0]};
    const double most_ns = fmax(reach(&self->change), reach(&medians));
    write_row(page, &(row){mean, NULL, {self->mean_ns[0], self->mean_ns[1]}, self->change}, most_ns);
    write_row(page, &(row){median, NULL, {self->median_ns[0], self->median_ns[1]}, medians}, most_ns);
    html_page_end_table(page);
    html_page_end_card(page);
  }
  free(all[0]);
  free(all[1]);
  return ok;
}

static void write_note(void *page, const char *text) {
  html_page_markup(page, "<p class=\"note\">");
  html_page_text(page, text);
  html_page_markup(page, "</p>\n");
}

static void write_side(html_page *page, char letter, const diff_side *of) {
  html_page_markup(page, "<div><dt>%c</dt><dd>", letter);
  html_page_text(page, of->path);
  if (of->has_loop)
    html_page_markup(page, ", %u step%s", of->step_count, of->step_count == 1 ? "" : "s");
  else
    html_page_markup(page, ", no loop");
  if (*of->device) html_page_markup(page, ", on ");
  html_page_text(page, of->device);
  html_page_markup(page, "</dd></div>\n");
}

pd_status diff_page_write(const difference *self, const char *path, error *err) {
  char sentence[DIFF_WORDS_BYTES], whole[DIFF_WORDS_BYTES + 16];
  html_page page;
  snprintf(whole, sizeof whole, "per %s", diff_words_subject(self));
  const pd_status status = html_page_open(&page, path, "Difference of two traces", whole, err);
  if (status != PD_OK) return status;
  diff_words_sentence(self, sentence, sizeof sentence);
  snprintf(whole, sizeof whole, "%s: %s", comparison_word(self->verdict), sentence);
  html_page_verdict(&page,
                    self->verdict == OUTCOME_SLOWER    ? "found"
                    : self->verdict == OUTCOME_UNCLEAR ? "unknown"
                                                       : "fine",
                    whole);
  html_page_markup(&page, "<dl>\n");
  write_side(&page, 'A', self->sides[0]);
  write_side(&page, 'B', self->sides[1]);
  html_page_markup(&page, "</dl>\n");
  diff_words_notes(self, write_note, &page);
  html_page_end_card(&page);
  const bool ok = write_steps(&page, self);
  write_list(&page, self, DIFF_LEDGER, diff_words_goes(self));
  write_causes(&page, self);
  write_list(&page, self, DIFF_KERNEL, "Kernels and copies");
  write_list(&page, self, DIFF_OPERATOR,
             self->has_device ? "Operators, by the device time launched in them" : "Operators, by their own host time");
  return html_page_close(&page, ok, err);
}
