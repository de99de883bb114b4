/* See csv_writer.h. */
#include "csv_writer.h"

#include <math.h>

void csv_text(csv_writer *csv, const char *text) { csv_text_of(csv, text ? text : "", text ? strlen(text) : 0); }

void csv_text_of(csv_writer *csv, const char *text, size_t length) {
  bool quote = false;
  for (size_t i = 0; i < length && !quote; i++)
    quote = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
  if (quote) {
    csv_begin_quoted(csv);
    csv_add_quoted(csv, text, length);
    csv_end_quoted(csv);
  } else {
    csv_empty(csv); /* the separator alone */
    text_out_bytes(csv->out, text, length);
  }
}

void csv_begin_quoted(csv_writer *csv) {
  csv_empty(csv);
  text_out_literal(csv->out, "\"");
}

void csv_add_quoted(csv_writer *csv, const char *text, size_t length) {
  while (length) {
    const char *found = memchr(text, '"', length);
    const size_t piece = found ? (size_t)(found - text) + 1 : length;
    text_out_bytes(csv->out, text, piece);
    if (found) text_out_literal(csv->out, "\"");
    text += piece;
    length -= piece;
  }
}

void csv_end_quoted(csv_writer *csv) { text_out_literal(csv->out, "\""); }

void csv_double(csv_writer *csv, double value) {
  char *at = csv_begin_number(csv);
  csv->out->at = isfinite(value) ? digits_double(at, value) : at;
}

void csv_fixed12(csv_writer *csv, double value) {
  char *at = csv_begin_number(csv);
  csv->out->at = isfinite(value) ? digits_fixed12(at, value) : at;
}

void csv_end_record(csv_writer *csv) {
  text_out_literal(csv->out, "\r\n");
  csv->fields = 0;
}

void csv_header(csv_writer *csv, const char *names) {
  text_out_text(csv->out, names);
  csv->fields = 1;
  csv_end_record(csv);
}
