/*
 * Buffered text output. A failed write sticks: everything after it is thrown away and text_out_flush() says so. One
 * thread at a time.
 */
#ifndef SINKS_LIB_TEXT_OUT_H
#define SINKS_LIB_TEXT_OUT_H

#include "digits.h"

#include <pdhost/plugin.h>

typedef pd_status (*text_write)(void *to, const void *data, uint64_t bytes);

typedef struct text_out {
  char *at, *end, *data;
  text_write write;
  void *to;
  uint64_t flushed_bytes;
  pd_status status;
  uint32_t reserved;
} text_out;

enum { TEXT_OUT_BUFFER = 1 << 20 };

/* PD_NO_MEMORY leaves an output that may be closed. */
pd_status text_out_open(text_out *out, text_write write, void *to);
pd_status text_out_flush(text_out *out);
/* Does not flush. */
void text_out_close(text_out *out);

static inline uint64_t text_out_bytes_so_far(const text_out *out) {
  return out->flushed_bytes + (uint64_t)(out->at - out->data);
}

/* Room for `bytes`, at most 64 KiB, at the place returned; then set out->at to where you stopped. */
static inline char *text_out_room(text_out *out, size_t bytes) {
  if ((size_t)(out->end - out->at) < bytes) text_out_flush(out);
  return out->at;
}

/* Any length. */
void text_out_bytes(text_out *out, const void *data, size_t bytes);
void text_out_text(text_out *out, const char *text);
void text_out_u64(text_out *out, uint64_t value);
void text_out_i64(text_out *out, int64_t value);
void text_out_us(text_out *out, int64_t ns);
void text_out_double(text_out *out, double value);
#define text_out_literal(out, literal) text_out_bytes(out, literal, sizeof(literal) - 1)

#endif
