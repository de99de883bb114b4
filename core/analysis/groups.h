/* Groups rows by a 128-bit key: the n-th distinct key gets index n. Open addressing, doubled at half full. */
#ifndef CORE_ANALYSIS_GROUPS_H
#define CORE_ANALYSIS_GROUPS_H

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

/* The key's index; new keys are added. UINT32_MAX on no memory. */
uint32_t groups_index(key_groups *self, uint64_t a, uint64_t b);
void groups_free(key_groups *self);

#endif
