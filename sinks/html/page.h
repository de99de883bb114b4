/*
 * HTML, written front to back. Whatever comes from a run is data: page_text escapes it, so that a name like "<script>"
 * is shown and never read as markup. The output owns the errors, which stick (text_out.h). [loop thread]
 */
#ifndef SINKS_HTML_PAGE_H
#define SINKS_HTML_PAGE_H

#include "../lib/text_out.h"

#include <pdhost/analysis.h>

/* A file that the page carries. */
typedef struct page_file {
  const char *name; /* "page.css" */
  const char *text;
} page_file;
/* Ended by a NULL name; made by the build. */
extern const page_file page_files[];

/* Markup of our own. */
#define page_markup(page, literal) text_out_literal(page, literal)
/* Text from anywhere, as element content or within a quoted attribute. NULL is written as nothing; bytes that are not
 * UTF-8 become U+FFFD, control characters blanks. */
void page_text(text_out *page, const char *text);
/* Markup of our own, text from anywhere, markup of our own. */
#define page_around(page, before, text, after)                                                                         \
  do {                                                                                                                 \
    page_markup(page, before);                                                                                         \
    page_text(page, text);                                                                                             \
    page_markup(page, after);                                                                                          \
  } while (0)
/* The text of one of page_files, as it is. */
void page_embed(text_out *page, const char *name);
/* Formatted numbers and our own words, escaped like page_text; at most 255 bytes. */
void page_format(text_out *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Markup of our own with numbers in it, as it is: no text, so no %s; at most 255 bytes. */
void page_numbers(text_out *page, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The figure as a reader sees it: times and bytes with three digits and their unit, shares in percent. A missing cell
 * is empty. */
void page_cell(text_out *page, const pd_metric *metric, const pd_cell *cell);
/* The figure as a number for sorting, in its base unit; false: it is a text, or missing. */
bool page_number(const pd_metric *metric, const pd_cell *cell, double *out);

/* The column of `key`, or PD_NONE. */
uint32_t page_column(const pd_table *table, const char *key);
/* The cell of `key` in `row`, or NULL: no such column, or the cell is missing. */
const pd_cell *page_find(const pd_table *table, const pd_table_row *row, const char *key);
/* The same as a number, in its base unit, or 0; as a text, or "". */
double page_figure(const pd_table *table, const pd_table_row *row, const char *key);
const char *page_string(const pd_table *table, const pd_table_row *row, const char *key);
/* The table of this id, or NULL. */
const pd_table *page_table(const pd_table_set *set, const char *id);

#endif
