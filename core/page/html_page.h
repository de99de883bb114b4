/*
 * A page of HTML: one file that needs no other, with the look of the html sink's. What comes from a file or a user is
 * data: html_page_text escapes it. A failed write shows at the end. [any thread]
 */
#ifndef CORE_PAGE_HTML_PAGE_H
#define CORE_PAGE_HTML_PAGE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdio.h>

typedef struct html_page {
  FILE *out;
  const char *path;
  char *temporary;
} html_page;

/* To an open stream, which `self->out` is: the head, with `title` and beside it `about`; the end. */
void html_page_begin(html_page *self, const char *title, const char *about);
void html_page_finish(html_page *self);
/* The same as a file of its own. `path` is kept until html_page_close. */
pd_status html_page_open(html_page *self, const char *path, const char *title, const char *about, error *err);
/* Ends it, renames it to its name and says on standard error that it was written. Where it is not `whole`, nothing is
 * left of it. */
pd_status html_page_close(html_page *self, bool whole, error *err);

/* Markup of our own, with numbers and our own words in it. */
void html_page_markup(html_page *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Text from anywhere, as content or within a quoted attribute. */
void html_page_text(html_page *self, const char *text);

/* A card with a heading, and the end of one. */
void html_page_card(html_page *self, const char *heading);
void html_page_end_card(html_page *self);
/* The sentence that the page is about; `tone`: "found" for bad news, "fine" or "unknown". Ended as a card. */
void html_page_verdict(html_page *self, const char *tone, const char *sentence);
/* A table that is sorted by a click: its caption and headings, separated by '|'. Then rows, then the end. */
void html_page_table(html_page *self, const char *caption, const char *headings);
void html_page_end_table(html_page *self);
/* The same where headings are data: begin, each heading, body. */
void html_page_table_begin(html_page *self, const char *caption);
void html_page_heading(html_page *self, const char *text);
void html_page_table_body(html_page *self);
/* Cells of a row. A number is sorted by `value` and read as `text`; a value that is not finite has no number. */
void html_page_row(html_page *self, const char *name);
void html_page_end_row(html_page *self);
void html_page_cell(html_page *self, const char *text);
void html_page_number(html_page *self, double value, const char *text);
/* The same, the darker the larger `share` is, 0..1. */
void html_page_heat(html_page *self, double value, double share, const char *text);

#endif
