/* Rows of RFC 4180: fields separated by commas, records ended by CRLF, quoted only where they must be. [loop thread] */
#ifndef SINKS_CSV_CSV_WRITER_H
#define SINKS_CSV_CSV_WRITER_H

#include "../lib/text_out.h"

#include <pdhost/record.h>

typedef struct csv_writer {
  text_out *out;
  uint64_t fields; /* of the record so far */
} csv_writer;

/* Room for a number and a separator, which is written. */
static inline char *csv_begin_number(csv_writer *csv) {
  char *at = text_out_room(csv->out, DIGITS_ROOM + 1);
  if (csv->fields++) *at++ = ',';
  return at;
}
static inline void csv_u64(csv_writer *csv, uint64_t value) { csv->out->at = digits_u64(csv_begin_number(csv), value); }
static inline void csv_i64(csv_writer *csv, int64_t value) { csv->out->at = digits_i64(csv_begin_number(csv), value); }
static inline void csv_empty(csv_writer *csv) { csv->out->at = csv_begin_number(csv); }

/* The number of a stream; empty: unknown. */
static inline void csv_stream(csv_writer *csv, uint32_t stream) {
  if (stream == PD_STREAM_UNKNOWN)
    csv_empty(csv);
  else
    csv_u64(csv, stream);
}

void csv_text(csv_writer *csv, const char *text); /* NULL is an empty field */
void csv_text_of(csv_writer *csv, const char *text, size_t length);
/* A field in pieces, in quotes. */
void csv_begin_quoted(csv_writer *csv);
void csv_add_quoted(csv_writer *csv, const char *text, size_t length);
void csv_end_quoted(csv_writer *csv);
void csv_double(csv_writer *csv, double value); /* NaN and infinities are empty */
/* To twelve decimals, and fast: for floats and rates. */
void csv_fixed12(csv_writer *csv, double value);
void csv_end_record(csv_writer *csv);
/* A record of `names`, comma-separated. */
void csv_header(csv_writer *csv, const char *names);

#endif
