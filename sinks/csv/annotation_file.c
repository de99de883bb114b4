/* See annotation_file.h. */
#include "annotation_file.h"

#include <pdhost/array.h>

#include <stdlib.h>

typedef struct annotation {
  int64_t start_ns, end_ns;
  uint64_t rows;
  uint32_t range, stream;
  uint32_t next; /* of the same range, on another stream: its place, or PD_NONE */
} annotation;

typedef struct annotations {
  annotation *all;
  uint32_t *first; /* by range: its first annotation's place, or PD_NONE */
  uint64_t count, room;
} annotations;

static bool add(annotations *self, uint32_t range, const pd_device_row *row) {
  uint32_t *place = &self->first[range];
  while (*place < self->count && self->all[*place].stream != row->stream) place = &self->all[*place].next;
  if (*place < self->count) {
    annotation *known = &self->all[*place];
    if (row->end_ns > known->end_ns) known->end_ns = row->end_ns;
    known->rows++;
    return true;
  }
  *place = (uint32_t)self->count; /* before the list may move */
  if (!PD_ARRAY_FIT(self->all, self->room, self->count + 1)) return false;
  self->all[self->count++] = (annotation){row->start_ns, row->end_ns, 1, range, row->stream, PD_NONE};
  return true;
}

static bool find(const pd_trace *trace, annotations *out) {
  out->first = malloc((trace->ranges.count + 1) * sizeof *out->first);
  out->room = 64;
  out->all = calloc(out->room, sizeof *out->all);
  if (!out->first || !out->all) return false;
  for (uint64_t i = 0; i < trace->ranges.count; i++) out->first[i] = PD_NONE;
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    const uint32_t range = pd_trace_annotation(trace, row->range);
    if (range != PD_NONE && !add(out, range, row)) return false;
  }
  return true;
}

static void write_one(csv_writer *csv, const pd_trace *trace, const annotation *one) {
  const pd_string *name = pd_trace_string(trace, PD_AT(pd_range, &trace->ranges, one->range)->name);
  const pd_stream_row *stream = PD_AT(pd_stream_row, &trace->streams, one->stream);
  csv_text_of(csv, name->text, name->length);
  csv_u64(csv, stream->device);
  csv_u64(csv, stream->context);
  csv_stream(csv, stream->stream);
  csv_i64(csv, one->start_ns);
  csv_i64(csv, one->end_ns);
  csv_i64(csv, one->end_ns - one->start_ns);
  csv_u64(csv, one->range);
  csv_u64(csv, one->rows);
  csv_end_record(csv);
}

void annotation_file_write(csv_writer *csv, const pd_trace *trace) {
  annotations found = {0};
  csv_header(csv, "name,device,context,stream,start_ns,end_ns,duration_ns,range,rows");
  if (find(trace, &found)) {
    for (uint64_t i = 0; i < found.count; i++) write_one(csv, trace, &found.all[i]);
  } else if (csv->out->status == PD_OK) {
    csv->out->status = PD_NO_MEMORY;
  }
  free(found.all);
  free(found.first);
}
