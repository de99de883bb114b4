/* Compression by the library alone, in the pieces and at the level of the chrome_trace sink. */
#ifndef BENCH_DEFLATE_SHARE_H
#define BENCH_DEFLATE_SHARE_H

#include <pthread.h>
#include <stdint.h>

typedef struct deflate_share_of {
  pthread_t thread;
  uint8_t *text; /* read alone, but the library's field is not const */
  uint64_t bytes, packed_bytes;
} deflate_share_of;

/* A thread's function: deflates its share. */
void *deflate_share(void *given);

#endif
