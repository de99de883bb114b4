/* See capture_kept.h. */
#include "capture_kept.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

pd_status capture_kept_add(capture_kept *self, const capture_record *record, const void *payload) {
  capture_reader *to = &self->reader;
  if (!PD_ARRAY_FIT(self->memory, self->room, to->bytes + record->bytes + 1)) return PD_NO_MEMORY;
  to->memory = self->memory;
  if (!PD_ARRAY_FIT(to->records, to->capacity, to->count + 1)) return PD_NO_MEMORY;
  if (record->bytes) memcpy(self->memory + to->bytes, payload, record->bytes);
  to->records[to->count] = *record;
  to->records[to->count++].at = to->bytes;
  to->bytes += record->bytes;
  return PD_OK;
}

void capture_kept_clear(capture_kept *self) { self->reader.count = self->reader.bytes = 0; }

void capture_kept_free(capture_kept *self) {
  capture_reader_close(&self->reader);
  free(self->memory);
  *self = (capture_kept){.reader = {.fd = -1}};
}
