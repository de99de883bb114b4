/* Compresses on all threads what one thread hands over in pieces of any size, several streams in turn, and inflates it
 * again: nothing may be lost, reordered or raced for. One stream in four is closed before it is finished. */
#include "gzip_stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

enum { STREAMS = 12, TEXT_BYTES = 5 << 20 };

typedef struct packed_text {
  unsigned char *data;
  size_t bytes, room;
} packed_text;

static pd_status keep(void *to, const void *data, uint64_t bytes) {
  packed_text *self = to;
  if (self->bytes + bytes > self->room) return PD_IO;
  memcpy(self->data + self->bytes, data, bytes);
  self->bytes += bytes;
  return PD_OK;
}

static int same_again(const packed_text *packed, const unsigned char *text, unsigned char *again) {
  z_stream stream = {.next_in = packed->data, .avail_in = (uInt)packed->bytes};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK) return 0;
  stream.next_out = again;
  stream.avail_out = TEXT_BYTES;
  const int result = inflate(&stream, Z_FINISH);
  const int same = result == Z_STREAM_END && stream.total_out == TEXT_BYTES && memcmp(text, again, TEXT_BYTES) == 0;
  inflateEnd(&stream);
  return same;
}

static int one_stream(uint32_t seed, packed_text *packed, const unsigned char *text, unsigned char *again) {
  gzip_stream *gzip = NULL;
  uint32_t random = seed;
  size_t at = 0;
  packed->bytes = 0;
  if (gzip_stream_open(&gzip, keep, packed) != PD_OK) return 0;
  const size_t end = seed % 4 == 3 ? TEXT_BYTES / 2 : TEXT_BYTES;
  while (at < end) {
    random = random * 1664525u + 1013904223u;
    size_t piece = (random >> 8) % 300000;
    if (piece > end - at) piece = end - at;
    if (gzip_stream_write(gzip, text + at, piece) != PD_OK) break;
    at += piece;
  }
  const int finished = end == TEXT_BYTES;
  const int good = at == end && (!finished || gzip_stream_finish(gzip) == PD_OK);
  gzip_stream_close(gzip);
  return good && (!finished || same_again(packed, text, again));
}

int main(void) {
  packed_text packed = {.room = 2 * (size_t)TEXT_BYTES};
  unsigned char *text = malloc(TEXT_BYTES), *again = malloc(TEXT_BYTES);
  int result = 1;
  packed.data = malloc(packed.room);
  if (!text || !again || !packed.data) goto out;
  for (size_t i = 0; i < TEXT_BYTES; i++) text[i] = (unsigned char)(i / 7 % 100 + (i * 2654435761u >> 24) % 3);
  for (uint32_t seed = 0; seed < STREAMS; seed++) {
    if (!one_stream(seed, &packed, text, again)) {
      fprintf(stderr, "gzip_stress: stream %u came back different\n", seed);
      goto out;
    }
  }
  result = 0;
out:
  free(text);
  free(again);
  free(packed.data);
  return result;
}
