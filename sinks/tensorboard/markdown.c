/* See markdown.h. */
#include "markdown.h"

#include "../lib/utf8.h"

#include <pdhost/array.h>
#include <pdhost/loss_names.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void markdown_free(markdown *self) {
  free(self->text);
  memset(self, 0, sizeof *self);
}

static char *reserve(markdown *self, size_t bytes) {
  if (self->failed) return NULL;
  if (!PD_ARRAY_FIT(self->text, self->room, self->bytes + bytes + 1)) {
    self->failed = true;
    return NULL;
  }
  return self->text + self->bytes;
}

void markdown_add(markdown *self, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int bytes = vsnprintf(NULL, 0, format, args);
  char *at = bytes < 0 ? NULL : reserve(self, (size_t)bytes);
  if (at) {
    vsnprintf(at, (size_t)bytes + 1, format, again);
    self->bytes += (size_t)bytes;
  }
  va_end(again);
  va_end(args);
}

/* What stands for a character that markdown or HTML would take for its own; NULL: the character itself. */
static const char *escaped(char c) {
  switch (c) {
  case '\n':
  case '\r': return " ";
  case '|': return "\\|";
  case '\\': return "\\\\";
  case '`': return "\\`";
  case '*': return "\\*";
  case '_': return "\\_";
  case '[': return "\\[";
  case '<': return "&lt;"; /* TensorBoard's markdown shows a backslash before it */
  case '&': return "&amp;";
  default: return NULL;
  }
}

/* One cell's text: bars and line ends are escaped, bytes that are no UTF-8 replaced. */
static void markdown_cell(markdown *self, const char *text) {
  size_t length = text ? strlen(text) : 0;
  char *at = reserve(self, 5 * length);
  if (!at) return;
  char *const start = at;
  while (length) {
    size_t bytes = utf8_length(text, length);
    if (!bytes) {
      memcpy(at, UTF8_REPLACEMENT, 3);
      at += 3;
      bytes = 1;
    } else {
      const char *instead = escaped(*text);
      const size_t copied = instead ? strlen(instead) : bytes;
      memcpy(at, instead ? instead : text, copied);
      at += copied;
    }
    text += bytes;
    length -= bytes;
  }
  *at = '\0';
  self->bytes += (size_t)(at - start);
}

static void add_time(markdown *self, double ns) {
  const double size = ns < 0 ? -ns : ns;
  if (size >= 1e9)
    markdown_add(self, "%.3f s", ns / 1e9);
  else if (size >= 1e6)
    markdown_add(self, "%.3f ms", ns / 1e6);
  else
    markdown_add(self, "%.3f us", ns / 1e3);
}

static void add_bytes(markdown *self, double bytes) {
  const double size = bytes < 0 ? -bytes : bytes;
  if (size >= 1024.0 * 1024 * 1024)
    markdown_add(self, "%.2f GB", bytes / (1024.0 * 1024 * 1024));
  else if (size >= 1024.0 * 1024)
    markdown_add(self, "%.2f MB", bytes / (1024.0 * 1024));
  else if (size >= 1024)
    markdown_add(self, "%.2f KB", bytes / 1024);
  else
    markdown_add(self, "%.0f B", bytes);
}

static void add_value(markdown *self, const pd_metric *metric, const pd_cell *cell) {
  const double number = cell->is_double ? cell->v.d : (double)cell->v.i;
  if (cell->missing) return;
  switch (metric->unit) {
  case PD_UNIT_TEXT: markdown_cell(self, cell->v.text); break;
  case PD_UNIT_NS: add_time(self, number); break;
  case PD_UNIT_BYTES: add_bytes(self, number); break;
  case PD_UNIT_PERCENT: markdown_add(self, "%.2f%%", number); break;
  default:
    if (cell->is_double)
      markdown_add(self, "%.6g", number);
    else
      markdown_add(self, "%lld", (long long)cell->v.i);
  }
}

static void add_row(markdown *self, const pd_table *table, const pd_table_row *row) {
  markdown_add(self, "|");
  for (uint32_t i = 0; i < table->column_count; i++) {
    if (table->columns[i]->flags & PD_METRIC_DETAIL) continue;
    markdown_add(self, " ");
    for (uint32_t level = 0; i == 0 && level < row->level; level++) markdown_add(self, "&nbsp;&nbsp;");
    add_value(self, table->columns[i], &row->cells[i]);
    markdown_add(self, " |");
  }
  markdown_add(self, "\n");
}

void markdown_table(markdown *self, const pd_table *table, uint64_t row_limit) {
  markdown_add(self, "### %s\n\n", table->title);
  if (table->note) markdown_add(self, "%s\n\n", table->note);
  markdown_add(self, "|");
  for (uint32_t i = 0; i < table->column_count; i++) {
    if (table->columns[i]->flags & PD_METRIC_DETAIL) continue;
    markdown_add(self, " ");
    markdown_cell(self, table->columns[i]->heading);
    markdown_add(self, " |");
  }
  markdown_add(self, "\n|");
  for (uint32_t i = 0; i < table->column_count; i++)
    if (!(table->columns[i]->flags & PD_METRIC_DETAIL))
      markdown_add(self, table->columns[i]->unit == PD_UNIT_TEXT ? "---|" : "---:|");
  markdown_add(self, "\n");
  for (uint64_t i = 0; i < table->rows.count && i < row_limit; i++)
    add_row(self, table, PD_AT(pd_table_row, &table->rows, i));
  if (table->footer) add_row(self, table, table->footer);
  if (table->rows.count > row_limit)
    markdown_add(self, "\n%llu more rows are in the json and csv files.\n",
                 (unsigned long long)(table->rows.count - row_limit));
}

void markdown_settings(markdown *self, const pd_run *run) {
  markdown_add(self, "| key | value | origin |\n|---|---|---|\n");
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    markdown_add(self, "| ");
    markdown_cell(self, setting->section);
    markdown_add(self, ".");
    markdown_cell(self, setting->key);
    markdown_add(self, " | ");
    markdown_cell(self, setting->value);
    markdown_add(self, " | ");
    markdown_cell(self, setting->origin);
    markdown_add(self, " |\n");
  }
}

static void fact(markdown *self, const char *name, const char *value) {
  if (!value) return;
  markdown_add(self, "| %s | ", name);
  markdown_cell(self, value);
  markdown_add(self, " |\n");
}

void markdown_summary(markdown *self, const pd_run *run, const pd_summary *summary) {
  static const char *const outcomes[] = {"complete", "interrupted", "failed"};
  markdown_add(self, "| figure | value |\n|---|---|\n");
  fact(self, "scenario", run->scenario);
  fact(self, "outcome", summary->outcome < 3 ? outcomes[summary->outcome] : "failed");
  fact(self, "reason", summary->reason);
  fact(self, "device", run->device ? run->device->name : run->device_name);
  fact(self, "versions", run->device ? run->device->versions : NULL);
  markdown_add(self, "| steps | %llu |\n", (unsigned long long)summary->steps);
  markdown_add(self, "| avg step time (all steps) | %.6f s |\n", summary->avg_step_time_s);
  markdown_add(self, "| avg dataloader wait (all steps) | %.6f s |\n", summary->avg_dataloader_wait_s);
  markdown_add(self, "| step time (active): median, p10, p90 | %.6f, %.6f, %.6f s |\n", summary->step_time_s.median,
               summary->step_time_s.p10, summary->step_time_s.p90);
  markdown_add(self, "| data wait (active): median, p10, p90 | %.6f, %.6f, %.6f s |\n", summary->data_wait_s.median,
               summary->data_wait_s.p10, summary->data_wait_s.p90);
  if (!isnan(summary->samples_per_s)) markdown_add(self, "| samples per second | %.3f |\n", summary->samples_per_s);
  markdown_add(self, "| peak device memory | %llu bytes |\n", (unsigned long long)summary->peak_allocated_bytes);
  if (isnan(summary->coverage))
    fact(self, "launches with their device record", "n/a");
  else
    markdown_add(self, "| launches with their device record | %.4f%% |\n", 100 * summary->coverage);
  if (PD_HAS(pd_summary, summary, paused_s) && summary->pauses)
    markdown_add(self, "| recording paused | %llu times, %.3f s |\n", (unsigned long long)summary->pauses,
                 summary->paused_s);
  fact(self, "profile", summary->profile_note);
  fact(self, "timing", summary->sync_note);
  for (uint32_t i = 0; i < PD_LOSS_COUNT; i++)
    if (summary->lost[i])
      markdown_add(self, "| **lost** | %llu %s |\n", (unsigned long long)summary->lost[i], pd_loss_text(i));
  if (PD_HAS(pd_summary, summary, corrected_ns) && summary->corrected_ns)
    markdown_add(self, "| moved behind their launches by up to | %.3f us |\n", (double)summary->corrected_ns * 1e-3);
}
