/* Groups rows by a 128-bit key: the n-th distinct key gets index n. Open addressing, doubled at half full. */
#ifndef CORE_FACTS_GROUPS_H
#define CORE_FACTS_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct group_key {
  uint64_t a, b;
} group_key;

typedef struct key_groups {
  group_key *keys; /* by index: in order of first appearance */
  uint32_t *slots; /* index + 1 */
  uint32_t count, room, slot_mask;
} key_groups;

static inline uint64_t groups_mix(uint64_t a, uint64_t b) {
  uint64_t h = a * 0x9E3779B97F4A7C15u ^ (b + 0x7F4A7C15u) * 0xC2B2AE3D27D4EB4Fu;
  h ^= h >> 32;
  h *= 0xD6E8FEB86659FD93u;
  return h ^ h >> 29;
}

/* For groups_index(): a key that may be new. */
uint32_t groups_add(key_groups *self, uint64_t a, uint64_t b);

/* The key's index; new keys are added. UINT32_MAX on no memory. In the header, since it is called for each event. */
static inline uint32_t groups_index(key_groups *self, uint64_t a, uint64_t b) {
  if (self->count) {
    const uint32_t slot = self->slots[(uint32_t)groups_mix(a, b) & self->slot_mask];
    if (slot && self->keys[slot - 1].a == a && self->keys[slot - 1].b == b) return slot - 1;
  }
  return groups_add(self, a, b);
}
void groups_free(key_groups *self);

#endif
