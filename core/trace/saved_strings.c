/* The strings of a capture file; see saved_window.h. */
#include "saved_window.h"

#include <stdlib.h>
#include <string.h>

pd_status saved_strings_open(saved_strings *self, const capture_reader *reader) {
  const uint64_t most = reader->bytes / sizeof(capture_string);
  const uint32_t end = capture_strings_end(reader);
  *self = (saved_strings){.count = end < most ? end : (uint32_t)most};
  self->ids = calloc((size_t)self->count + 1, sizeof *self->ids);
  if (!self->ids) return PD_NO_MEMORY;
  const pd_status status = strings_open(&self->strings);
  if (status != PD_OK) saved_strings_close(self);
  return status;
}

void saved_strings_close(saved_strings *self) {
  free(self->ids);
  strings_close(self->strings);
  *self = (saved_strings){0};
}

uint32_t saved_strings_id(const saved_strings *self, uint32_t id) { return id < self->count ? self->ids[id] : 0; }

pd_status saved_strings_add(saved_strings *self, const capture_reader *reader, const capture_record *at) {
  unsigned char *payload = malloc((size_t)at->bytes + 1);
  if (!payload) return PD_NO_MEMORY;
  pd_status status = capture_payload(reader, at, payload);
  for (uint32_t place = 0; status == PD_OK && at->bytes - place >= sizeof(capture_string);) {
    capture_string row;
    memcpy(&row, payload + place, sizeof row);
    place += (uint32_t)sizeof row;
    if (row.bytes > at->bytes - place || row.id >= self->count) break;
    const unsigned char after = payload[place + row.bytes];
    payload[place + row.bytes] = '\0';
    /* Id 0 is the empty text of "no name"; interning would give it another. */
    if (row.id) self->ids[row.id] = strings_intern(self->strings, (const char *)payload + place);
    payload[place + row.bytes] = after;
    const uint32_t padded = (row.bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
    if (padded > at->bytes - place) break;
    place += padded;
  }
  free(payload);
  return status;
}
