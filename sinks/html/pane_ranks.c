/* All ranks together: the verdict, and for each rank two bars; see panes.h. */
#include "panes.h"

#include <string.h>

static const char *const tables[] = {"ranks_parts", "collectives", "messages", "ranks_ledger"};
enum { TABLE_COUNT = sizeof tables / sizeof *tables, RANKS_DRAWN = 64 };

/* Figures of a rank that add up to `whole`. */
typedef struct rank_chart {
  const char *title, *whole;
  const char *parts[4]; /* up to a NULL */
} rank_chart;

static const rank_chart charts[] = {
    {"Where the steps of each rank go",
     "ranks_time",
     {"ranks_computation", "ranks_overlap", "ranks_communication", "ranks_other"}},
    {"Collectives of each rank: waiting for the others, and the transfer itself",
     "ranks_common",
     {"ranks_wait", "ranks_transfer"}},
};

bool pane_ranks_has(const pd_table_set *set) {
  const pd_table *table = page_table(set, "ranks_verdict");
  return table && table->rows.count;
}

bool pane_ranks_takes(const pd_table *table) {
  for (int i = 0; i < TABLE_COUNT; i++)
    if (!strcmp(table->id, tables[i])) return true;
  return !strcmp(table->id, "ranks_verdict");
}

static void verdict(text_out *page, const pd_table_set *set) {
  static const char *const facts[] = {"ranks_straggler", "ranks_straggler_cause", "ranks_straggler_more", "ranks_share",
                                      "ranks_step",      "ranks_steps",           "ranks_collectives"};
  const pd_table *table = page_table(set, "ranks_verdict");
  if (!table || !table->rows.count) return;
  const pd_table_row *row = PD_AT(pd_table_row, &table->rows, 0);
  page_around(page, "<section class=\"card verdict ", overview_tone(page_string(table, row, "ranks_verdict_cause")),
              "\"><h3>Verdict on all ranks</h3>\n");
  page_around(page, "<p class=\"sentence\">", page_string(table, row, "ranks_verdict"), "</p>\n<dl>\n");
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
    overview_fact(page, table, table->columns[page_column(table, facts[i])]->heading, facts[i]);
  page_markup(page, "</dl></section>\n");
}

static double longest(const pd_table *table, const char *key) {
  double most = 0;
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const double value = page_figure(table, PD_AT(pd_table_row, &table->rows, i), key);
    if (value > most) most = value;
  }
  return most;
}

static void part(text_out *page, const pd_table *table, const pd_table_row *row, const char *key, double share) {
  const uint32_t column = page_column(table, key);
  page_around(page, "<span class=\"k-", key, "\" style=\"flex-grow:");
  page_format(page, "%.3f", share);
  page_around(page, "\" title=\"", table->columns[column]->heading, ": ");
  page_cell(page, table->columns[column], &row->cells[column]);
  page_numbers(page, ", %.1f %%\">", share);
  if (share >= 9) page_text(page, table->columns[column]->heading);
  page_markup(page, "</span>");
}

/* Bars are as long as their wholes, so that ranks can be compared. */
static void bar(text_out *page, const rank_chart *self, const pd_table *table, const pd_table_row *row, double most) {
  const double whole = page_figure(table, row, self->whole);
  page_markup(page, "<dt>Rank ");
  page_format(page, "%.0f", page_figure(table, row, "ranks_rank"));
  page_markup(page, "</dt><dd><div class=\"bar\" aria-hidden=\"true\" style=\"width:");
  page_format(page, "%.3f", 100 * whole / most);
  page_markup(page, "%\">");
  for (size_t i = 0; i < sizeof self->parts / sizeof *self->parts && self->parts[i] && whole > 0; i++) {
    const double share = 100 * page_figure(table, row, self->parts[i]) / whole;
    if (share >= 0.1) part(page, table, row, self->parts[i], share);
  }
  page_markup(page, "</div></dd>\n");
}

static void chart(text_out *page, const rank_chart *self, const pd_table *table) {
  const double most = longest(table, self->whole);
  if (most <= 0) return;
  page_around(page, "<section class=\"card ranks\"><h3>", self->title, "</h3>\n<dl>\n");
  for (uint64_t i = 0; i < table->rows.count && i < RANKS_DRAWN; i++) {
    page_markup(page, "<div>");
    bar(page, self, table, PD_AT(pd_table_row, &table->rows, i), most);
    page_markup(page, "</div>\n");
  }
  page_markup(page, "</dl>\n<ul class=\"legend\">\n");
  for (size_t i = 0; i < sizeof self->parts / sizeof *self->parts && self->parts[i]; i++) {
    page_around(page, "<li><span class=\"key k-", self->parts[i], "\"></span>");
    page_around(page, "", table->columns[page_column(table, self->parts[i])]->heading, "</li>\n");
  }
  page_markup(page, "</ul>\n<p class=\"note\">The table below has the figures.");
  if (table->rows.count > RANKS_DRAWN)
    page_format(page, " The first %d of %llu ranks are drawn.", RANKS_DRAWN, (unsigned long long)table->rows.count);
  page_markup(page, "</p>\n</section>\n");
}

void pane_ranks(text_out *page, const pd_table_set *set) {
  const pd_table *parts = page_table(set, tables[0]);
  verdict(page, set);
  for (size_t i = 0; i < sizeof charts / sizeof *charts; i++) chart(page, &charts[i], parts);
  for (int i = 0; i < TABLE_COUNT; i++) {
    const pd_table *table = page_table(set, tables[i]);
    if (table && table->rows.count) pane_table(page, table, "run-", i < 2);
  }
}
