/* See page.h. */
#include "page.h"

#include "../lib/utf8.h"

#include <pdhost/quantity.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *instead_of(char c) {
  switch (c) {
  case '<': return "&lt;";
  case '>': return "&gt;";
  case '&': return "&amp;";
  case '"': return "&quot;";
  case '\'': return "&#39;";
  default: return (unsigned char)c < ' ' || c == 0x7f ? " " : NULL;
  }
}

void page_text(text_out *page, const char *text) {
  size_t left = text ? strlen(text) : 0;
  while (left) {
    size_t bytes = utf8_length(text, left);
    const char *instead = bytes == 1 ? instead_of(*text) : NULL;
    if (!bytes) {
      instead = UTF8_REPLACEMENT;
      bytes = 1;
    }
    if (instead)
      text_out_text(page, instead);
    else
      text_out_bytes(page, text, bytes);
    text += bytes;
    left -= bytes;
  }
}

void page_embed(text_out *page, const char *name) {
  for (const page_file *file = page_files; file->name; file++)
    if (!strcmp(file->name, name)) text_out_text(page, file->text);
}

void page_format(text_out *page, const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  page_text(page, text);
}

void page_numbers(text_out *page, const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  text_out_text(page, text);
}

bool page_number(const pd_metric *metric, const pd_cell *cell, double *out) {
  if (cell->missing || metric->unit == PD_UNIT_TEXT) return false;
  *out = cell->is_double ? cell->v.d : (double)cell->v.i;
  return true;
}

void page_cell(text_out *page, const pd_metric *metric, const pd_cell *cell) {
  char figure[64];
  double value = 0;
  if (!page_number(metric, cell, &value)) {
    if (!cell->missing) page_text(page, cell->v.text);
    return;
  }
  switch (metric->unit) {
  case PD_UNIT_NS: pd_text_time(figure, sizeof figure, value); break;
  case PD_UNIT_BYTES: pd_text_bytes(figure, sizeof figure, value); break;
  case PD_UNIT_PERCENT: pd_text_percent(figure, sizeof figure, value); break;
  default:
    if (cell->is_double)
      snprintf(figure, sizeof figure, "%.4g", value);
    else
      snprintf(figure, sizeof figure, "%" PRId64, cell->v.i);
    break;
  }
  page_text(page, figure);
}

uint32_t page_column(const pd_table *table, const char *key) {
  for (uint32_t c = 0; c < table->column_count; c++)
    if (!strcmp(table->columns[c]->key, key)) return c;
  return PD_NONE;
}

const pd_cell *page_find(const pd_table *table, const pd_table_row *row, const char *key) {
  const uint32_t column = page_column(table, key);
  return column == PD_NONE || row->cells[column].missing ? NULL : &row->cells[column];
}

double page_figure(const pd_table *table, const pd_table_row *row, const char *key) {
  const pd_cell *cell = page_find(table, row, key);
  double value = 0;
  return cell && page_number(table->columns[page_column(table, key)], cell, &value) ? value : 0;
}

const char *page_string(const pd_table *table, const pd_table_row *row, const char *key) {
  const pd_cell *cell = page_find(table, row, key);
  return cell ? cell->v.text : "";
}

const pd_table *page_table(const pd_table_set *set, const char *id) {
  for (uint32_t i = 0; i < set->count; i++)
    if (!strcmp(set->tables[i]->id, id)) return set->tables[i];
  return NULL;
}
