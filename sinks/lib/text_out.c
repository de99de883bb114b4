/* See text_out.h. */
#include "text_out.h"

#include <stdlib.h>

pd_status text_out_open(text_out *out, text_write write, void *to) {
  memset(out, 0, sizeof *out);
  out->data = malloc(TEXT_OUT_BUFFER);
  if (!out->data) return out->status = PD_NO_MEMORY;
  out->at = out->data;
  out->end = out->data + TEXT_OUT_BUFFER;
  out->write = write;
  out->to = to;
  return PD_OK;
}

static void write_out(text_out *out, const void *data, size_t bytes) {
  if (out->status == PD_OK && bytes) out->status = out->write(out->to, data, bytes);
  out->flushed_bytes += bytes;
}

pd_status text_out_flush(text_out *out) {
  write_out(out, out->data, (size_t)(out->at - out->data));
  out->at = out->data;
  return out->status;
}

void text_out_close(text_out *out) {
  free(out->data);
  out->data = out->at = out->end = NULL;
}

void text_out_bytes(text_out *out, const void *data, size_t bytes) {
  if ((size_t)(out->end - out->at) < bytes) {
    text_out_flush(out);
    if (bytes > TEXT_OUT_BUFFER) {
      write_out(out, data, bytes);
      return;
    }
  }
  memcpy(out->at, data, bytes);
  out->at += bytes;
}

void text_out_text(text_out *out, const char *text) { text_out_bytes(out, text, strlen(text)); }
void text_out_u64(text_out *out, uint64_t value) { out->at = digits_u64(text_out_room(out, DIGITS_ROOM), value); }
void text_out_i64(text_out *out, int64_t value) { out->at = digits_i64(text_out_room(out, DIGITS_ROOM), value); }
void text_out_us(text_out *out, int64_t ns) { out->at = digits_us(text_out_room(out, DIGITS_ROOM), ns); }
void text_out_double(text_out *out, double value) { out->at = digits_double(text_out_room(out, DIGITS_ROOM), value); }
