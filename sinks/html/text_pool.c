/* See text_pool.h. Open addressing: a slot is looked for from its hash on. */
#include "text_pool.h"

#include <pdhost/array.h>

enum { FIRST_SLOTS = 1024 };

const char *text_pool_text(const text_pool *self, uint32_t number) { return self->bytes + self->offsets[number]; }

/* FNV-1a. */
static uint64_t hash_of(const char *text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 0x100000001b3;
  return hash ^ hash >> 32;
}

static uint32_t *slot_of(const text_pool *self, const char *text) {
  uint32_t at = (uint32_t)hash_of(text) & (self->slot_count - 1);
  while (self->slots[at] && strcmp(text_pool_text(self, self->slots[at] - 1), text) != 0)
    at = (at + 1) & (self->slot_count - 1);
  return &self->slots[at];
}

static bool grow(text_pool *self) {
  const uint32_t slot_count = self->slot_count ? 2 * self->slot_count : FIRST_SLOTS;
  uint32_t *slots = calloc(slot_count, sizeof *slots);
  if (!slots) return false;
  free(self->slots);
  self->slots = slots;
  self->slot_count = slot_count;
  for (uint32_t i = 0; i < self->count; i++) *slot_of(self, text_pool_text(self, i)) = i + 1;
  return true;
}

uint32_t text_pool_add(text_pool *self, const char *text) {
  const size_t bytes = strlen(text) + 1;
  if (2 * (uint64_t)self->count >= self->slot_count && !grow(self)) return UINT32_MAX;
  uint32_t *slot = slot_of(self, text);
  if (*slot) return *slot - 1;
  if (!PD_ARRAY_FIT(self->offsets, self->offsets_room, self->count + 1) ||
      !PD_ARRAY_FIT(self->bytes, self->bytes_room, self->used + bytes))
    return UINT32_MAX;
  memcpy(self->bytes + self->used, text, bytes);
  self->offsets[self->count] = self->used;
  self->used += bytes;
  *slot = ++self->count;
  return self->count - 1;
}

void text_pool_free(text_pool *self) {
  free(self->bytes);
  free(self->offsets);
  free(self->slots);
  *self = (text_pool){.bytes = NULL};
}
