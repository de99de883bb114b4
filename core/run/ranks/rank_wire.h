/* A rank's side as bytes, for its way to rank 0. Both ends are the same program: rank_group_agree() saw to it. */
#ifndef CORE_RUN_RANK_WIRE_H
#define CORE_RUN_RANK_WIRE_H

#include "rank_side.h"

/* NULL on no memory; the caller frees it. */
void *rank_wire_pack(const rank_side *side, uint64_t *bytes);
/* `out` is overwritten, and has no path. False: no memory, or the bytes are not whole. */
bool rank_wire_unpack(const void *data, uint64_t bytes, rank_side *out);

#endif
