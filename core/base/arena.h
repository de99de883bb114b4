/* Memory of one set of tables: taken piece by piece, freed as a whole. A failure sticks, so that builders check once.
 */
#ifndef CORE_BASE_ARENA_H
#define CORE_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct arena_chunk arena_chunk;
typedef struct arena {
  arena_chunk *chunks; /* the newest first */
  bool failed;
} arena;

/* Zeroed, aligned to 16 bytes; NULL on no memory, and `failed` is set. */
void *arena_take(arena *self, size_t bytes);
/* A copy of `length` bytes, terminated. */
const char *arena_text(arena *self, const char *text, size_t length);
const char *arena_format(arena *self, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* What `other` holds is from now on this one's. */
void arena_join(arena *self, arena *other);
void arena_free(arena *self);

#endif
