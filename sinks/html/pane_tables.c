/* The tables; see panes.h. */
#include "panes.h"

#include <math.h>
#include <string.h>

static void cell(text_out *page, const pd_table *table, const pd_table_row *row, uint32_t column) {
  const pd_metric *metric = table->columns[column];
  double number = 0;
  const bool is_number = page_number(metric, &row->cells[column], &number);
  if (column == 0) {
    page_markup(page, "<th scope=\"row\" class=\"level");
    page_format(page, "%u", (unsigned)row->level);
    page_markup(page, "\"");
  } else {
    page_markup(page, "<td");
  }
  if (is_number && isfinite(number)) { page_numbers(page, " data-sort=\"%.17g\"", number); }
  page_markup(page, ">");
  page_cell(page, metric, &row->cells[column]);
  if (column == 0)
    page_markup(page, "</th>");
  else
    page_markup(page, "</td>");
}

static void table_row(text_out *page, const pd_table *table, const pd_table_row *row) {
  page_markup(page, "<tr>");
  for (uint32_t c = 0; c < table->column_count; c++) cell(page, table, row, c);
  page_markup(page, "</tr>\n");
}

/* What the column is, as `pdhost explain` says it. The page's script folds what is wide. */
static void heading(text_out *page, const pd_metric *metric, const char *scope) {
  page_around(page, "<th scope=\"", scope, "\" data-key=\"");
  page_around(page, "", metric->key, "\" title=\"");
  page_text(page, metric->definition);
  if (metric->formula) page_around(page, "; ", metric->formula, "");
  page_markup(page, "\"");
  if (metric->flags & (PD_METRIC_WIDE | PD_METRIC_DETAIL)) page_markup(page, " data-wide");
  page_around(page, ">", metric->heading, "</th>");
}

static void rows_of(text_out *page, const pd_table *table) {
  page_markup(page, "<thead><tr>");
  for (uint32_t c = 0; c < table->column_count; c++) heading(page, table->columns[c], "col");
  page_markup(page, "</tr></thead><tbody>\n");
  for (uint64_t i = 0; i < table->rows.count; i++) table_row(page, table, PD_AT(pd_table_row, &table->rows, i));
  page_markup(page, "</tbody>");
  if (!table->footer) return;
  page_markup(page, "<tfoot>");
  table_row(page, table, table->footer);
  page_markup(page, "</tfoot>");
}

/* The only row of its table: headings and values, one below the other. */
static void record_of(text_out *page, const pd_table *table) {
  const pd_table_row *row = PD_AT(pd_table_row, &table->rows, 0);
  page_markup(page, "<tbody>\n");
  for (uint32_t c = 0; c < table->column_count; c++) {
    double number = 0;
    page_markup(page, "<tr>");
    heading(page, table->columns[c], "row");
    page_markup(page, "<td");
    if (page_number(table->columns[c], &row->cells[c], &number) && isfinite(number))
      page_numbers(page, " data-sort=\"%.17g\"", number);
    page_markup(page, ">");
    page_cell(page, table->columns[c], &row->cells[c]);
    page_markup(page, "</td></tr>\n");
  }
  page_markup(page, "</tbody>");
}

void pane_table(text_out *page, const pd_table *table, const char *prefix, bool open) {
  const bool is_record = PD_AT(pd_table_row, &table->rows, 0)->flags & PD_ROW_RECORD;
  page_around(page, "<details id=\"", prefix, "t-");
  page_around(page, "", table->id, "\"");
  if (open) page_markup(page, " open");
  page_around(page, "><summary>", table->title, "");
  if (!is_record) page_format(page, " (%llu)", (unsigned long long)table->rows.count);
  page_markup(page, "</summary>\n");
  if (table->note) page_around(page, "<p class=\"note\">", table->note, "</p>\n");
  page_around(page, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"", table->title, "\">");
  page_around(page, "<table class=\"", is_record ? "record" : "sortable", "\" data-id=\"");
  page_around(page, "", table->id, "\"><caption>");
  page_around(page, "", table->title, "</caption>");
  if (is_record)
    record_of(page, table);
  else
    rows_of(page, table);
  page_markup(page, "</table></div></details>\n");
}

/* ---- groups ---- */

const pane_group pane_groups[PANE_GROUP_COUNT] = {
    {"steps", "Steps", {"active_steps", "breakdown", "ledger_steps"}},
    {"operators", "Operators", {"operators", "operator_summary", "model", "userdefined", "flops"}},
    {"kernels", "Kernels", {"kernels", "kernel_operators", "memcpy", "device_figures", "device_summary"}},
    {"modules", "Modules", {"modules"}},
    {"memory", "Memory", {"memory", "memory_peak", "memory_churn", "memory_blocks"}},
    {"stacks", "Stacks", {"stacks", "stacks_device"}},
    {"series", "Machine", {"series"}},
    {"ranks", "Ranks", {"distributed"}},
    {"tables", "All figures", {NULL}},
};

static bool is_in(const pane_group *self, const char *id) {
  for (size_t i = 0; i < sizeof self->tables / sizeof *self->tables && self->tables[i]; i++)
    if (!strcmp(self->tables[i], id)) return true;
  return false;
}

/* The last group has what no other has. */
static bool holds(const pane_group *self, const pd_table *table) {
  if (!table->column_count || !table->rows.count) return false;
  if (self != &pane_groups[PANE_GROUP_COUNT - 1]) return is_in(self, table->id);
  for (uint32_t i = 0; i + 1 < PANE_GROUP_COUNT; i++)
    if (is_in(&pane_groups[i], table->id)) return false;
  return true;
}

bool pane_group_has(const pane_group *self, const pd_table_set *set) {
  for (uint32_t i = 0; i < set->count; i++)
    if (holds(self, set->tables[i])) return true;
  return false;
}

void pane_group_tables(text_out *page, const pane_window *window, const pane_group *self) {
  bool open = true;
  for (size_t i = 0; i < sizeof self->tables / sizeof *self->tables && self->tables[i]; i++) {
    const pd_table *table = page_table(window->set, self->tables[i]);
    if (!table || !holds(self, table)) continue;
    pane_table(page, table, window->prefix, open);
    open = false;
  }
  if (self->tables[0]) return;
  for (uint32_t i = 0; i < window->set->count; i++)
    if (holds(self, window->set->tables[i])) pane_table(page, window->set->tables[i], window->prefix, false);
}
