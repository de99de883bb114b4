/* See csv_writer.h. */
#include "csv_writer.h"

#include <math.h>

static void separate(csv_writer *csv) {
  if (csv->fields++) text_out_literal(csv->out, ",");
}

void csv_text(csv_writer *csv, const char *text) { csv_text_of(csv, text ? text : "", text ? strlen(text) : 0); }

void csv_text_of(csv_writer *csv, const char *text, size_t length) {
  bool quote = false;
  separate(csv);
  for (size_t i = 0; i < length && !quote; i++)
    quote = text[i] == ',' || text[i] == '"' || text[i] == '\n' || text[i] == '\r';
  if (!quote) {
    text_out_bytes(csv->out, text, length);
    return;
  }
  text_out_literal(csv->out, "\"");
  while (length) {
    const char *found = memchr(text, '"', length);
    const size_t piece = found ? (size_t)(found - text) + 1 : length;
    text_out_bytes(csv->out, text, piece);
    if (found) text_out_literal(csv->out, "\"");
    text += piece;
    length -= piece;
  }
  text_out_literal(csv->out, "\"");
}

void csv_u64(csv_writer *csv, uint64_t value) {
  separate(csv);
  text_out_u64(csv->out, value);
}
void csv_i64(csv_writer *csv, int64_t value) {
  separate(csv);
  text_out_i64(csv->out, value);
}
void csv_double(csv_writer *csv, double value) {
  separate(csv);
  if (isfinite(value)) text_out_double(csv->out, value);
}
void csv_empty(csv_writer *csv) { separate(csv); }

void csv_end_record(csv_writer *csv) {
  text_out_literal(csv->out, "\r\n");
  csv->fields = 0;
}

void csv_header(csv_writer *csv, const char *names) {
  text_out_text(csv->out, names);
  csv->fields = 1;
  csv_end_record(csv);
}
