/* The tables and the run; see panes.h. */
#include "panes.h"

#include <math.h>
#include <time.h>

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
  if (is_number && isfinite(number)) {
    page_markup(page, " data-sort=\"");
    page_format(page, "%.17g", number);
    page_markup(page, "\"");
  }
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

static void table_pane(text_out *page, const pd_table *table, const char *prefix) {
  page_markup(page, "<details id=\"");
  page_text(page, prefix);
  page_text(page, table->id);
  page_markup(page, "\"><summary>");
  page_text(page, table->title);
  page_format(page, " (%llu)", (unsigned long long)table->rows.count);
  page_markup(page, "</summary>\n<div class=\"scroll\"><table class=\"sortable\" data-id=\"");
  page_text(page, table->id);
  page_markup(page, "\"><caption>");
  page_text(page, table->note ? table->note : table->title);
  page_markup(page, "</caption><thead><tr>");
  for (uint32_t c = 0; c < table->column_count; c++) {
    page_markup(page, "<th scope=\"col\" data-key=\"");
    page_text(page, table->columns[c]->key);
    page_markup(page, "\" title=\"");
    page_text(page, table->columns[c]->definition);
    page_markup(page, "\">");
    page_text(page, table->columns[c]->heading);
    page_markup(page, "</th>");
  }
  page_markup(page, "</tr></thead><tbody>\n");
  for (uint64_t i = 0; i < table->rows.count; i++) table_row(page, table, PD_AT(pd_table_row, &table->rows, i));
  page_markup(page, "</tbody>");
  if (table->footer) {
    page_markup(page, "<tfoot>");
    table_row(page, table, table->footer);
    page_markup(page, "</tfoot>");
  }
  page_markup(page, "</table></div></details>\n");
}

void pane_tables(text_out *page, const pd_table_set *set, const char *prefix) {
  for (uint32_t i = 0; i < set->count; i++)
    if (set->tables[i]->column_count && set->tables[i]->rows.count) table_pane(page, set->tables[i], prefix);
}

static void named(text_out *page, const char *name, const char *value) {
  if (!value || !*value) return;
  page_markup(page, "<tr><th scope=\"row\">");
  page_text(page, name);
  page_markup(page, "</th><td>");
  page_text(page, value);
  page_markup(page, "</td></tr>\n");
}

static void started(text_out *page, const pd_run *run) {
  const time_t seconds = (time_t)(run->start_realtime_ns / 1000000000);
  struct tm parts;
  char text[64] = "";
  if (gmtime_r(&seconds, &parts)) strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  named(page, "Started", text);
}

static void notes(text_out *page, const pd_summary *summary) {
  if (!summary->notes.count) return;
  page_markup(page, "<h3>Notes</h3><ul>\n");
  for (uint64_t i = 0; i < summary->notes.count; i++) {
    page_markup(page, "<li>");
    page_text(page, *PD_AT(pd_note, &summary->notes, i));
    page_markup(page, "</li>\n");
  }
  page_markup(page, "</ul>\n");
}

void pane_run(text_out *page, const pd_run *run, const pd_summary *summary) {
  page_markup(page, "<section id=\"run\"><h2>Run</h2>\n");
  if (summary->reason) {
    page_markup(page, "<p class=\"note\">This run was cut short: ");
    page_text(page, summary->reason);
    page_markup(page, "</p>\n");
  }
  notes(page, summary);
  page_markup(page, "<table><caption>Machine and program</caption><tbody>\n");
  named(page, "Command", run->command_line);
  named(page, "Scenario", run->scenario);
  named(page, "Device", run->device ? run->device->name : run->device_name);
  named(page, "Libraries", run->device ? run->device->versions : NULL);
  named(page, "No GPU", run->fallback);
  named(page, "Host", run->host_name);
  started(page, run);
  named(page, "pdhost", run->pdhost_version);
  named(page, "Sources", run->source_id);
  page_markup(page,
              "</tbody></table>\n<details><summary>Configuration</summary><div class=\"scroll\"><table>"
              "<caption>Every key, its value, and where that came from</caption><thead><tr><th scope=\"col\">Key</th>"
              "<th scope=\"col\">Value</th><th scope=\"col\">From</th></tr></thead><tbody>\n");
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    page_markup(page, "<tr><th scope=\"row\">");
    page_text(page, setting->section);
    page_markup(page, ".");
    page_text(page, setting->key);
    page_markup(page, "</th><td>");
    page_text(page, setting->value);
    page_markup(page, "</td><td>");
    page_text(page, setting->origin);
    page_markup(page, "</td></tr>\n");
  }
  page_markup(page, "</tbody></table></div></details></section>\n");
}
