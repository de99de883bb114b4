/* See groups.h. */
#include "groups.h"

#include <pdhost/array.h>

#include <stdlib.h>

static bool grow(key_groups *self) {
  const uint32_t slot_count = self->room ? self->room * 4 : 128;
  uint32_t *slots = self->room > UINT32_MAX / 8 ? NULL : calloc(slot_count, sizeof *slots);
  if (!slots || !PD_ARRAY_FIT(self->keys, self->room, slot_count / 2)) {
    free(slots);
    return false;
  }
  free(self->slots);
  self->slots = slots;
  self->slot_mask = slot_count - 1;
  for (uint32_t i = 0; i < self->count; i++) {
    uint32_t at = (uint32_t)groups_mix(self->keys[i].a, self->keys[i].b) & self->slot_mask;
    while (slots[at]) at = (at + 1) & self->slot_mask;
    slots[at] = i + 1;
  }
  return true;
}

uint32_t groups_add(key_groups *self, uint64_t a, uint64_t b) {
  uint32_t at;
  if (self->count == self->room && !grow(self)) return UINT32_MAX;
  at = (uint32_t)groups_mix(a, b) & self->slot_mask;
  while (self->slots[at]) {
    const group_key *key = &self->keys[self->slots[at] - 1];
    if (key->a == a && key->b == b) return self->slots[at] - 1;
    at = (at + 1) & self->slot_mask;
  }
  self->keys[self->count] = (group_key){a, b};
  self->slots[at] = self->count + 1;
  return self->count++;
}

void groups_free(key_groups *self) {
  free(self->keys);
  free(self->slots);
  self->keys = NULL;
  self->slots = NULL;
  self->count = self->room = self->slot_mask = 0;
}
