/* Texts, each kept once and known by its number. [loop thread] */
#ifndef SINKS_HTML_TEXT_POOL_H
#define SINKS_HTML_TEXT_POOL_H

#include <stddef.h>
#include <stdint.h>

/* All zero at first: then there is no text. */
typedef struct text_pool {
  char *bytes;       /* of all texts, each ended by a NUL */
  uint64_t *offsets; /* of each text, into bytes */
  uint32_t *slots;   /* text number + 1 by hash; 0: free */
  uint64_t used, bytes_room;
  uint32_t count, offsets_room, slot_count, reserved;
} text_pool;

/* The number of `text`, the same for the same text; UINT32_MAX on no memory. */
uint32_t text_pool_add(text_pool *self, const char *text);
const char *text_pool_text(const text_pool *self, uint32_t number);
void text_pool_free(text_pool *self);

#endif
