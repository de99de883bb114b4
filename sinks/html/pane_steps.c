/* The steps as bars; see panes.h. */
#include "panes.h"

#include <string.h>

enum { PIXELS_A_STEP = 14, BAR_PIXELS = 10, HEIGHT = 160, FIRST_CAUSE = 2 };

static double figure(const pd_table *table, const pd_table_row *row, uint32_t column) {
  double value = 0;
  return page_number(table->columns[column], &row->cells[column], &value) ? value : 0;
}

static void rectangle(text_out *page, const pd_table *table, uint32_t column, double x, double y, double height) {
  page_markup(page, "<rect class=\"");
  page_format(page, "c%u", (unsigned)(column - FIRST_CAUSE));
  page_markup(page, "\" x=\"");
  page_format(page, "%.0f", x);
  page_markup(page, "\" y=\"");
  page_format(page, "%.2f", y);
  page_markup(page, "\" width=\"");
  page_format(page, "%d", BAR_PIXELS);
  page_markup(page, "\" height=\"");
  page_format(page, "%.2f", height);
  page_markup(page, "\"><title>");
  page_text(page, table->columns[column]->heading);
  page_markup(page, "</title></rect>");
}

void pane_steps(text_out *page, const pd_table_set *set) {
  const pd_table *table = page_table(set, "ledger_steps");
  double most = 0;
  if (!table || !table->rows.count || table->column_count <= FIRST_CAUSE) return;
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const double span = figure(table, PD_AT(pd_table_row, &table->rows, i), 1);
    if (span > most) most = span;
  }
  if (most <= 0) return;
  const pd_cell longest = {.v = {.i = (int64_t)most}};
  page_markup(page, "<section><h3>Steps</h3>\n<p>The longest takes ");
  page_cell(page, table->columns[1], &longest);
  page_markup(page,
              ". The colours are those of the bar above.</p>\n<div class=\"steps\"><svg role=\"img\" "
              "aria-label=\"Time of each step by cause; the table Ledger of each step has the figures\" width=\"");
  page_format(page, "%.0f", (double)table->rows.count * PIXELS_A_STEP);
  page_markup(page, "\" height=\"");
  page_format(page, "%d", HEIGHT);
  page_markup(page, "\">");
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const pd_table_row *row = PD_AT(pd_table_row, &table->rows, i);
    double y = HEIGHT;
    for (uint32_t c = FIRST_CAUSE; c < table->column_count; c++) {
      const double height = figure(table, row, c) / most * HEIGHT;
      if (height < 0.05) continue;
      y -= height;
      rectangle(page, table, c, (double)i * PIXELS_A_STEP, y, height);
    }
  }
  page_markup(page, "</svg></div></section>\n");
}
