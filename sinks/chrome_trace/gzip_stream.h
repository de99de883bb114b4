/*
 * One gzip member, compressed on several threads: the text is cut into chunks, each is a piece of the same deflate
 * stream that begins without history and ends flushed, and the checksums are combined. Every gzip reader takes it.
 *
 * Write, finish and close are one thread's; the chunks in flight bound the memory, whatever the size of the text.
 */
#ifndef SINKS_CHROME_TRACE_GZIP_STREAM_H
#define SINKS_CHROME_TRACE_GZIP_STREAM_H

#include "../lib/text_out.h"

typedef struct gzip_stream gzip_stream;

/* `write` is called by the thread that writes, in order. PD_NO_MEMORY: nothing was made. */
pd_status gzip_stream_open(gzip_stream **out, text_write write, void *to);
pd_status gzip_stream_write(gzip_stream *self, const void *data, uint64_t bytes);
/* Writes what is left and the trailer. */
pd_status gzip_stream_finish(gzip_stream *self);
/* Ends the threads; NULL is fine. */
void gzip_stream_close(gzip_stream *self);

#endif
