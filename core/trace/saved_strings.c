/* The strings of a capture file; see saved_window.h. */
#include "saved_window.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

pd_status saved_strings_open(saved_strings *self) {
  *self = (saved_strings){0};
  return strings_open(&self->strings);
}

void saved_strings_close(saved_strings *self) {
  free(self->ids);
  strings_close(self->strings);
  *self = (saved_strings){0};
}

uint32_t saved_strings_id(const saved_strings *self, uint32_t id) { return id < self->count ? self->ids[id] : 0; }

pd_status saved_strings_add(saved_strings *self, const void *payload, uint32_t bytes, uint64_t end) {
  const char *text = payload;
  const uint64_t all = end / sizeof(capture_string), most = all < UINT32_MAX ? all : UINT32_MAX - 1;
  for (uint32_t place = 0; bytes - place >= sizeof(capture_string);) {
    capture_string row;
    memcpy(&row, text + place, sizeof row);
    place += (uint32_t)sizeof row;
    if (row.bytes > bytes - place || row.id >= most) return PD_OK;
    if (!PD_ARRAY_FIT_ZERO(self->ids, self->room, row.id + 1)) return PD_NO_MEMORY;
    if (row.id >= self->count) self->count = row.id + 1;
    /* Id 0 is the empty text of "no name"; interning would give it another. */
    if (row.id) self->ids[row.id] = strings_intern_bytes(self->strings, text + place, strnlen(text + place, row.bytes));
    const uint32_t padded = (row.bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
    if (padded > bytes - place) return PD_OK;
    place += padded;
  }
  return PD_OK;
}
