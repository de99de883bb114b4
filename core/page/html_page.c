/* See html_page.h. */
#include "html_page.h"

#include "html_page_files.h"

#include "base/files.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

void html_page_text(html_page *self, const char *text) {
  for (; text && *text; text++) {
    switch (*text) {
    case '<': fputs("&lt;", self->out); break;
    case '>': fputs("&gt;", self->out); break;
    case '&': fputs("&amp;", self->out); break;
    case '"': fputs("&quot;", self->out); break;
    case '\'': fputs("&#39;", self->out); break;
    default: fputc((unsigned char)*text < ' ' || *text == 0x7f ? ' ' : *text, self->out); break;
    }
  }
}

void html_page_markup(html_page *self, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfprintf(self->out, format, args);
  va_end(args);
}

static void embed(html_page *self, const char *name) {
  for (const html_page_file *file = html_page_files; file->name; file++)
    if (strcmp(file->name, name) == 0) fputs(file->text, self->out);
}

void html_page_begin(html_page *self, const char *title, const char *about) {
  html_page_markup(self,
                   "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                   "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                   "'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">\n<title>");
  html_page_text(self, title);
  html_page_markup(self, " - pdhost</title>\n<style>\n");
  embed(self, "page.css");
  embed(self, "colours.css");
  html_page_markup(self, "</style></head>\n<body>\n<header><h1>");
  html_page_text(self, title);
  html_page_markup(self, "</h1><p>");
  html_page_text(self, about);
  html_page_markup(self, "</p></header>\n<main>\n");
}

void html_page_finish(html_page *self) {
  html_page_markup(self, "</main>\n<script type=\"module\">\n");
  embed(self, "page.js");
  html_page_markup(self, "</script>\n</body></html>\n");
}

pd_status html_page_open(html_page *self, const char *path, const char *title, const char *about, error *err) {
  *self = (html_page){.path = path};
  self->out = files_open_stream(path, &self->temporary);
  if (!self->out) return error_set(err, PD_IO, CODE_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
  html_page_begin(self, title, about);
  return PD_OK;
}

pd_status html_page_close(html_page *self, bool whole, error *err) {
  html_page_finish(self);
  if (files_end_stream(self->out, whole, self->path, self->temporary)) {
    fprintf(stderr, "pdhost: wrote %s\n", self->path);
    return PD_OK;
  }
  if (!whole) return error_no_memory(err);
  return error_set(err, PD_IO, CODE_OUTPUT, "%s: cannot be written: %s", self->path, strerror(errno));
}

void html_page_card(html_page *self, const char *heading) {
  html_page_markup(self, "<section class=\"card\"><h2>");
  html_page_text(self, heading);
  html_page_markup(self, "</h2>\n");
}

void html_page_end_card(html_page *self) { html_page_markup(self, "</section>\n"); }

void html_page_verdict(html_page *self, const char *tone, const char *sentence) {
  html_page_markup(self, "<section class=\"card verdict %s\"><h2>Verdict</h2>\n<p class=\"sentence\">", tone);
  html_page_text(self, sentence);
  html_page_markup(self, "</p>\n");
}

void html_page_table_begin(html_page *self, const char *caption) {
  html_page_markup(self, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"");
  html_page_text(self, caption);
  html_page_markup(self, "\"><table class=\"sortable\"><caption>");
  html_page_text(self, caption);
  html_page_markup(self, "</caption><thead><tr>");
}

void html_page_heading(html_page *self, const char *text) {
  html_page_markup(self, "<th scope=\"col\">");
  html_page_text(self, text);
  html_page_markup(self, "</th>");
}

void html_page_table_body(html_page *self) { html_page_markup(self, "</tr></thead><tbody>\n"); }

void html_page_table(html_page *self, const char *caption, const char *headings) {
  html_page_table_begin(self, caption);
  for (const char *at = headings; *at;) {
    const int bytes = (int)strcspn(at, "|");
    html_page_markup(self, "<th scope=\"col\">%.*s</th>", bytes, at);
    at += bytes + (at[bytes] == '|');
  }
  html_page_table_body(self);
}

void html_page_end_table(html_page *self) { html_page_markup(self, "</tbody></table></div>\n"); }

void html_page_row(html_page *self, const char *name) {
  html_page_markup(self, "<tr><th scope=\"row\">");
  html_page_text(self, name);
  html_page_markup(self, "</th>");
}

void html_page_end_row(html_page *self) { html_page_markup(self, "</tr>\n"); }

void html_page_cell(html_page *self, const char *text) {
  html_page_markup(self, "<td>");
  html_page_text(self, text);
  html_page_markup(self, "</td>");
}

void html_page_number(html_page *self, double value, const char *text) {
  if (isfinite(value))
    html_page_markup(self, "<td data-sort=\"%.17g\">", value);
  else
    html_page_markup(self, "<td>");
  html_page_text(self, text);
  html_page_markup(self, "</td>");
}

void html_page_heat(html_page *self, double value, double share, const char *text) {
  if (isfinite(value) && isfinite(share))
    html_page_markup(self,
                     "<td data-sort=\"%.17g\" style=\"background: color-mix(in srgb, var(--mark) %.0f%%, "
                     "transparent)\">",
                     value,
                     45 * (share < 0   ? 0
                           : share > 1 ? 1
                                       : share));
  else
    html_page_markup(self, "<td>");
  html_page_text(self, text);
  html_page_markup(self, "</td>");
}
