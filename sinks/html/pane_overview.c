/* The first screen; see panes.h. */
#include "panes.h"

#include <pdhost/quantity.h>

#include <stdio.h>
#include <string.h>

/* ---- the verdict ---- */

void overview_fact(text_out *page, const pd_table *table, const char *title, const char *key) {
  const pd_cell *cell = page_find(table, PD_AT(pd_table_row, &table->rows, 0), key);
  if (!cell) return;
  page_around(page, "<div><dt>", title, "</dt><dd>");
  page_cell(page, table->columns[page_column(table, key)], cell);
  page_markup(page, "</dd></div>\n");
}

/* A figure that is read from afar. */
static void large(text_out *page, const char *figure, const char *words) {
  page_around(page, "<div class=\"large\"><strong>", figure, "</strong> <span>");
  page_text(page, words);
  page_markup(page, "</span></div>\n");
}

static void verdict_figures(text_out *page, const pd_table *table, const pd_table_row *row) {
  const pd_cell *share = page_find(table, row, "verdict_share"), *now = page_find(table, row, "verdict_step"),
                *then = page_find(table, row, "verdict_expected"), *sure = page_find(table, row, "verdict_repeatable");
  char figure[64], other[64];
  page_markup(page, "<div class=\"figures\">\n");
  if (share) {
    pd_text_percent(figure, sizeof figure, share->v.d);
    const bool is_found = strcmp(page_string(table, row, "verdict_cause"), "none") != 0;
    large(page, figure, is_found ? "of the step to gain" : "of the step the device is busy");
  }
  if (now) {
    pd_text_time(figure, sizeof figure, (double)now->v.i);
    large(page, figure, "a step now");
  }
  if (now && then && then->v.i > 0) {
    pd_text_time(figure, sizeof figure, (double)then->v.i);
    const double ratio = (double)now->v.i / (double)then->v.i;
    snprintf(other, sizeof other, "expected without the cause, %.*fx as fast", ratio < 10 ? 2 : 1, ratio);
    large(page, figure, other);
  }
  if (sure) {
    snprintf(figure, sizeof figure, "%.0f %%", sure->v.d);
    large(page, figure, "of resamples of the steps agree");
  }
  page_markup(page, "</div>\n");
}

const char *overview_tone(const char *cause) {
  if (!strcmp(cause, "withheld") || !*cause) return "unknown";
  return strcmp(cause, "none") != 0 ? "found" : "fine";
}

/* Without a bottleneck, a device that is idle for most of the step is not fine. */
enum { BUSY_ENOUGH = 50 };

static const char *tone_of(const pd_table *table, const pd_table_row *row) {
  const char *cause = page_string(table, row, "verdict_cause");
  if (!strcmp(cause, "none") && page_figure(table, row, "verdict_share") < BUSY_ENOUGH) return "unknown";
  return overview_tone(cause);
}

static void verdict(text_out *page, const pd_table_set *set) {
  const pd_table *table = page_table(set, "verdict");
  if (!table || !table->rows.count) return;
  const pd_table_row *row = PD_AT(pd_table_row, &table->rows, 0);
  page_around(page, "<section class=\"card verdict ", tone_of(table, row), "\"><h3>Verdict</h3>\n");
  page_around(page, "<p class=\"sentence\">", page_string(table, row, "verdict"), "</p>\n");
  verdict_figures(page, table, row);
  page_markup(page, "<dl>\n");
  overview_fact(page, table, "Evidence", "verdict_evidence");
  overview_fact(page, table, "Others", "verdict_others");
  page_markup(page, "</dl>\n");
  if (table->note) page_around(page, "<p class=\"note\">", table->note, "</p>\n");
  page_markup(page, "</section>\n");
}

static void command(text_out *page, const char *words) {
  page_around(page, "<pre class=\"command\" tabindex=\"0\"><code>", words, "</code></pre>\n");
}

/* Whether verdict_after is a command that reads the new trace, not one that records it. */
static bool is_new_trace(const char *words) { return strstr(words, " NEW") != NULL; }

static void next_step(text_out *page, const pd_table_set *set) {
  const pd_table *table = page_table(set, "verdict");
  if (!table || !table->rows.count) return;
  const pd_table_row *row = PD_AT(pd_table_row, &table->rows, 0);
  const char *helps = page_string(table, row, "verdict_helps"), *next = page_string(table, row, "verdict_next"),
             *sets = page_string(table, row, "verdict_overrides"), *after = page_string(table, row, "verdict_after");
  if (!*helps && !*next && !*after) return;
  page_markup(page, "<section class=\"card next\"><h3>What to do</h3>\n");
  if (*helps) page_around(page, "<p>", helps, "</p>\n");
  /* What it changes is at the end of a command that may be long. */
  if (*sets) page_around(page, "<p>Set <code>", sets, "</code>. Type next:</p>\n");
  if (*next && !*sets) page_markup(page, "<p>Type next:</p>\n");
  if (*next) command(page, next);
  if (*after)
    page_around(page, "<p>",
                is_new_trace(after) ? "Then record it again, and type, with the new trace for NEW:"
                                    : "Then record it again:",
                "</p>\n");
  if (*after) command(page, after);
  page_markup(page, "</section>\n");
}

/* ---- what a fix would gain ---- */

enum { GAINS_SHOWN = 5 };

static double at_least_nothing(double value) { return value > 0 ? value : 0; }

/* A bar from 0 to `gain`, and a line from `low` to `high`, all in percent. */
static void gain_bar(text_out *page, double gain, double low, double high) {
  page_markup(page,
              "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"gain\" "
              "height=\"10\" width=\"");
  page_format(page, "%.2f", at_least_nothing(gain));
  page_markup(page, "\"/><line y1=\"5\" y2=\"5\" x1=\"");
  page_format(page, "%.2f", at_least_nothing(low));
  page_markup(page, "\" x2=\"");
  page_format(page, "%.2f", at_least_nothing(high));
  page_markup(page, "\"/></svg>");
}

static void gain_row(text_out *page, const pd_table *table, const pd_table_row *row) {
  const pd_cell *low = page_find(table, row, "gain_low"), *high = page_find(table, row, "gain_high"),
                *step = page_find(table, row, "gain_step");
  const double gain = page_figure(table, row, "gain");
  page_around(page, "<tr><th scope=\"row\">", page_string(table, row, "removed"), "</th><td>");
  page_format(page, "%.1f %%", gain);
  page_markup(page, "</td><td>");
  if (low && high) page_format(page, "%.1f to %.1f", low->v.d, high->v.d);
  page_markup(page, "</td><td>");
  if (step) page_cell(page, table->columns[page_column(table, "gain_step")], step);
  page_markup(page, "</td><td>");
  gain_bar(page, gain, low ? low->v.d : gain, high ? high->v.d : gain);
  page_markup(page, "</td></tr>\n");
}

static void gains(text_out *page, const pd_table_set *set) {
  const pd_table *table = page_table(set, "gains");
  if (!table || !table->rows.count) return;
  page_markup(page,
              "<section class=\"card gains\"><h3>What a fix would gain</h3>\n<table><caption>Share of the step that is "
              "saved without each cause, with its interval; gains do not add up</caption><thead><tr>"
              "<th scope=\"col\">Without</th><th scope=\"col\">Gain</th><th scope=\"col\">Interval, %</th>"
              "<th scope=\"col\">Step then</th><th scope=\"col\">0 to 100 %</th></tr></thead><tbody>\n");
  for (uint64_t i = 0; i < table->rows.count && i < GAINS_SHOWN; i++)
    gain_row(page, table, PD_AT(pd_table_row, &table->rows, i));
  page_markup(page, "</tbody></table></section>\n");
}

/* ---- the whole ---- */

static bool has_command(const pd_table_set *set) {
  const pd_table *table = page_table(set, "verdict");
  const pd_table_row *row = table && table->rows.count ? PD_AT(pd_table_row, &table->rows, 0) : NULL;
  return row && (*page_string(table, row, "verdict_next") || *page_string(table, row, "verdict_after"));
}

void pane_overview(text_out *page, const pane_window *window) {
  verdict(page, window->set);
  /* Beside what is shorter: a command makes the left side the longer one. */
  const bool facts_right = has_command(window->set);
  page_markup(page, "<div class=\"pair\">\n<div class=\"side\">\n");
  next_step(page, window->set);
  if (!facts_right) overview_facts(page, window);
  page_markup(page, "</div>\n<div class=\"side\">\n");
  gains(page, window->set);
  if (facts_right) overview_facts(page, window);
  page_markup(page, "</div>\n</div>\n");
  overview_ledger(page, window->set);
}
