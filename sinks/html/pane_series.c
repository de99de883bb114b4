/* What was looked at in equal spans, a curve each; see panes.h. The figures beside a curve are those of the table. */
#include "panes.h"

#include "../lib/series_list.h"

#include <pdhost/quantity.h>
#include <pdhost/series_counters.h>

#include <stdio.h>

enum { WIDTH = 1000, HEIGHT = 48, MARGIN = 4 };

typedef struct curve {
  const pd_trace *trace;
  uint32_t name;
  double least, most;
} curve;

static double place_of(const pd_trace *trace, int64_t ts_ns) {
  return (double)WIDTH * (double)(ts_ns - trace->start_ns) / (double)(trace->end_ns - trace->start_ns);
}

/* From the least at the bottom to the most at the top; a series that never changes lies in the middle. */
static double height_of(const curve *self, double value) {
  const double span = self->most - self->least;
  return MARGIN + (HEIGHT - 2 * MARGIN) * (span > 0 ? (self->most - value) / span : 0.5);
}

static void draw(text_out *page, const curve *self) {
  bool begun = false;
  page_markup(page, "<path d=\"");
  for (uint64_t i = 0; i < self->trace->counters.count; i++) {
    const pd_counter_row *row = PD_AT(pd_counter_row, &self->trace->counters, i);
    if (row->name != self->name || !pd_is_series(self->trace, row)) continue;
    page_numbers(page, begun ? "L%.1f %.1f" : "M%.1f %.1f", place_of(self->trace, row->ts_ns),
                 height_of(self, row->value));
    begun = true;
  }
  page_markup(page, "\"/>");
}

/* Bytes have their unit in them; the others have theirs once, after the last figure. */
static void figure(char *text, size_t room, double value, const char *unit) {
  if (!strcmp(unit, "bytes"))
    pd_text_bytes(text, room, value);
  else
    snprintf(text, room, "%.4g", value);
}

static void one(text_out *page, const pane_window *window, const pd_table *table, const pd_table_row *row,
                uint32_t name) {
  const char *unit = page_string(table, row, "series_unit");
  char least[64], mean[64], most[64];
  const curve self = {.trace = window->trace,
                      .name = name,
                      .least = page_figure(table, row, "series_min"),
                      .most = page_figure(table, row, "series_max")};
  figure(least, sizeof least, self.least, unit);
  figure(mean, sizeof mean, page_figure(table, row, "series_mean"), unit);
  figure(most, sizeof most, self.most, unit);
  page_around(page, "<figure class=\"series\"><figcaption><b>", page_string(table, row, "series_name"), "</b> ");
  page_around(page, "", least, " to ");
  page_around(page, "", most, ", mean ");
  page_around(page, "", mean, " ");
  page_around(page, "", strcmp(unit, "bytes") ? unit : "", "</figcaption>");
  page_numbers(page, "<svg role=\"img\" viewBox=\"0 0 %d %d\" preserveAspectRatio=\"none\" aria-label=\"", WIDTH,
               HEIGHT);
  page_around(page, "", page_string(table, row, "series_name"), " over the window\">");
  draw(page, &self);
  page_markup(page, "</svg></figure>\n");
}

void pane_series(text_out *page, const pane_window *window) {
  const pd_table *table = page_table(window->set, "series");
  uint32_t names[SERIES_MOST];
  const uint32_t count = series_list(window->trace, names);
  if (!table || window->trace->end_ns <= window->trace->start_ns) return;
  page_markup(page, "<section class=\"card\"><h3>Over the window</h3>\n");
  for (uint32_t i = 0; i < count && i < table->rows.count; i++) /* both in the order in which series begin */
    one(page, window, table, PD_AT(pd_table_row, &table->rows, i), names[i]);
  page_markup(page, "</section>\n");
}
