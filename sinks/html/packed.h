/*
 * The timeline's data as the page carries it: a JSON head and columns of variable-length integers (LEB128), one stream
 * of zlib's, in base64. The script in timeline_data.js reads it. [loop thread]
 *
 *   bytes of the head, 4, little-endian; the head; then the columns, their lengths in the head
 *   start: from the start before in the row, of the first from base_ns; duration; name; details; kind, a byte each;
 *   call: of device records and calls, the call's number + 1 from the number before it, zigzag; 0 of what has none
 */
#ifndef SINKS_HTML_PACKED_H
#define SINKS_HTML_PACKED_H

#include "tracks.h"

#include "../lib/text_out.h"

typedef struct packed {
  unsigned char *data; /* of zlib */
  uint64_t bytes;
} packed;

/* `until_ns`: where the events were cut. False on no memory. */
bool packed_make(const pd_trace *trace, const tracks *from, int64_t until_ns, packed *out);
/* The size in the page. */
static inline uint64_t packed_text_bytes(const packed *self) { return (self->bytes + 2) / 3 * 4; }
void packed_write(text_out *page, const packed *self);
void packed_free(packed *self);

#endif
