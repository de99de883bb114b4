/* See arena.h. Chunks double up to 1 MiB, so that small sets stay small. */
#include "arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_chunk {
  arena_chunk *next;
  size_t used, room;
  size_t reserved; /* keeps the data after it aligned to 16 bytes */
};

enum { FIRST_CHUNK_BYTES = 4096, LAST_CHUNK_BYTES = 1 << 20 };

static arena_chunk *grow(arena *self, size_t bytes) {
  size_t room = self->chunks ? self->chunks->room * 2 : FIRST_CHUNK_BYTES;
  arena_chunk *chunk;
  if (room > LAST_CHUNK_BYTES) room = LAST_CHUNK_BYTES;
  if (room < bytes) room = bytes;
  if (room > SIZE_MAX - sizeof *chunk) return NULL;
  chunk = calloc(1, sizeof *chunk + room);
  if (!chunk) return NULL;
  chunk->room = room;
  chunk->next = self->chunks;
  self->chunks = chunk;
  return chunk;
}

void *arena_take(arena *self, size_t bytes) {
  arena_chunk *chunk = self->chunks;
  void *data;
  if (bytes > SIZE_MAX - 16) {
    self->failed = true;
    return NULL;
  }
  bytes = (bytes + 15) & ~(size_t)15;
  if (!chunk || chunk->room - chunk->used < bytes) chunk = grow(self, bytes);
  if (!chunk) {
    self->failed = true;
    return NULL;
  }
  data = (char *)(chunk + 1) + chunk->used;
  chunk->used += bytes;
  return data;
}

const char *arena_text(arena *self, const char *text, size_t length) {
  char *copy = arena_take(self, length + 1);
  if (copy) memcpy(copy, text, length);
  return copy;
}

const char *arena_format(arena *self, const char *format, ...) {
  va_list args;
  char *text = NULL;
  int length;
  va_start(args, format);
  length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  if (length >= 0) text = arena_take(self, (size_t)length + 1);
  if (!text) {
    self->failed = true;
    return NULL;
  }
  va_start(args, format);
  vsnprintf(text, (size_t)length + 1, format, args);
  va_end(args);
  return text;
}

void arena_join(arena *self, arena *other) {
  arena_chunk **last = &self->chunks;
  while (*last) last = &(*last)->next;
  *last = other->chunks;
  self->failed |= other->failed;
  *other = (arena){0};
}

void arena_free(arena *self) {
  while (self->chunks) {
    arena_chunk *next = self->chunks->next;
    free(self->chunks);
    self->chunks = next;
  }
  self->failed = false;
}
