/* The verdict, the ledger as a bar, and the gains; see panes.h. */
#include "panes.h"

#include <pdhost/quantity.h>

#include <string.h>

static void fact(text_out *page, const pd_table *table, const char *title, const char *key) {
  const pd_cell *cell = page_find(table, PD_AT(pd_table_row, &table->rows, 0), key);
  if (!cell) return;
  page_markup(page, "<div><dt>");
  page_text(page, title);
  page_markup(page, "</dt><dd>");
  page_cell(page, table->columns[page_column(table, key)], cell);
  page_markup(page, "</dd></div>\n");
}

void pane_verdict(text_out *page, const pd_table_set *set) {
  const pd_table *table = page_table(set, "verdict");
  if (!table || !table->rows.count) return;
  const pd_table_row *row = PD_AT(pd_table_row, &table->rows, 0);
  const pd_cell *verdict = page_find(table, row, "verdict"), *next = page_find(table, row, "verdict_next");
  page_markup(page, "<section class=\"verdict\"><h3>Verdict</h3>\n<p class=\"sentence\">");
  if (verdict) page_text(page, verdict->v.text);
  page_markup(page, "</p>\n<dl>\n");
  fact(page, table, "Share of the step", "verdict_share");
  fact(page, table, "Step", "verdict_step");
  fact(page, table, "Step expected", "verdict_expected");
  fact(page, table, "Repeatable in resamples of the steps", "verdict_repeatable");
  fact(page, table, "Evidence", "verdict_evidence");
  fact(page, table, "Ruled out", "verdict_not");
  page_markup(page, "</dl>\n");
  if (next) {
    page_markup(page, "<p>Try next</p>\n<pre class=\"command\"><code>");
    page_text(page, next->v.text);
    page_markup(page, "</code></pre>\n");
  }
  if (table->note) {
    page_markup(page, "<p class=\"note\">");
    page_text(page, table->note);
    page_markup(page, "</p>\n");
  }
  page_markup(page, "</section>\n");
}

static double share_of(const pd_table *table, const pd_table_row *row, const char *key) {
  const pd_cell *cell = page_find(table, row, key);
  double value = 0;
  return cell && page_number(table->columns[page_column(table, key)], cell, &value) ? value : 0;
}

static const char *text_in(const pd_table *table, const pd_table_row *row, const char *key) {
  const pd_cell *cell = page_find(table, row, key);
  return cell ? cell->v.text : "";
}

enum { SHOWN_PERMILLE = 1 };

void pane_ledger(text_out *page, const pd_table_set *set) {
  const pd_table *table = page_table(set, "ledger");
  if (!table || !table->rows.count) return;
  page_markup(page,
              "<section><h3>Where the step goes</h3>\n<div class=\"bar\" role=\"img\" aria-label=\"Shares of the step, "
              "listed below\">");
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const pd_table_row *row = PD_AT(pd_table_row, &table->rows, i);
    const double share = share_of(table, row, "share");
    if (share * 10 < SHOWN_PERMILLE) continue;
    page_markup(page, "<span class=\"");
    page_text(page, text_in(table, row, "state"));
    page_format(page, " c%u", (unsigned)i);
    page_markup(page, "\" style=\"flex-grow:");
    page_format(page, "%.3f", share);
    page_markup(page, "\" title=\"");
    page_text(page, text_in(table, row, "category"));
    page_format(page, ": %.1f %%", share);
    page_markup(page, "\"></span>");
  }
  page_markup(page, "</div>\n<ul class=\"legend\">\n");
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const pd_table_row *row = PD_AT(pd_table_row, &table->rows, i);
    const double share = share_of(table, row, "share");
    if (share * 10 < SHOWN_PERMILLE) continue;
    page_markup(page, "<li><span class=\"key ");
    page_text(page, text_in(table, row, "state"));
    page_format(page, " c%u", (unsigned)i);
    page_markup(page, "\"></span>");
    page_text(page, text_in(table, row, "category"));
    page_format(page, " %.1f %%", share);
    page_markup(page, "</li>\n");
  }
  page_markup(page, "</ul></section>\n");
}

/* A bar from 0 to `gain`, and a line from `low` to `high`, all in percent. */
static void gain_bar(text_out *page, double gain, double low, double high) {
  const double at = gain < 0 ? 0 : gain, from = low < 0 ? 0 : low, to = high < 0 ? 0 : high;
  page_markup(page,
              "<svg viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"gain\" "
              "height=\"10\" width=\"");
  page_format(page, "%.2f", at);
  page_markup(page, "\"/><line y1=\"5\" y2=\"5\" x1=\"");
  page_format(page, "%.2f", from);
  page_markup(page, "\" x2=\"");
  page_format(page, "%.2f", to);
  page_markup(page, "\"/></svg>");
}

void pane_gains(text_out *page, const pd_table_set *set) {
  const pd_table *table = page_table(set, "gains");
  if (!table || !table->rows.count) return;
  page_markup(page, "<section><h3>What a fix would gain</h3>\n<table class=\"gains\"><caption>");
  page_text(page, table->note);
  page_markup(page,
              "</caption><thead><tr><th scope=\"col\">Without</th><th scope=\"col\">Gain</th>"
              "<th scope=\"col\">Interval</th><th scope=\"col\">Step then</th><th scope=\"col\">0 to 100 %</th></tr>"
              "</thead><tbody>\n");
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const pd_table_row *row = PD_AT(pd_table_row, &table->rows, i);
    const pd_cell *low = page_find(table, row, "gain_low"), *high = page_find(table, row, "gain_high"),
                  *step = page_find(table, row, "gain_step");
    const double gain = share_of(table, row, "gain");
    page_markup(page, "<tr><th scope=\"row\">");
    page_text(page, text_in(table, row, "removed"));
    page_markup(page, "</th><td>");
    page_format(page, "%.1f %%", gain);
    page_markup(page, "</td><td>");
    if (low && high) page_format(page, "%.1f to %.1f %%", low->v.d, high->v.d);
    page_markup(page, "</td><td>");
    if (step) page_cell(page, table->columns[page_column(table, "gain_step")], step);
    page_markup(page, "</td><td>");
    gain_bar(page, gain, low ? low->v.d : gain, high ? high->v.d : gain);
    page_markup(page, "</td></tr>\n");
  }
  page_markup(page, "</tbody></table></section>\n");
}
