/* What all ranks did together, on its way through the capture of rank 0's run to its sinks. [loop thread] */
#ifndef CORE_RUN_RANK_KEPT_H
#define CORE_RUN_RANK_KEPT_H

#include "rank_summary.h"

#include <pdhost/analysis.h>
#include <pdhost/reader.h>

struct capture_writer;

/* Writes the sides of all ranks, and how far their clocks are off; `clock` NULL: that is not known. Without memory it
 * writes less, and there are no tables later. */
void rank_kept_save(struct capture_writer *to, const rank_side *sides, uint32_t count, const rank_clock *clock);

/* Zeroed at first. */
typedef struct rank_kept {
  rank_side *sides;
  uint32_t count, taken;
  rank_clock clock;
  rank_summary summary;
  arena tables;
} rank_kept;

/* A record of kind CAPTURE_RANK or CAPTURE_RANK_CLOCKS. Nothing in it is believed. */
void rank_kept_take(rank_kept *self, const pd_captured *record);
/* The tables, which are `self`'s; NULL: not all ranks were there, or no memory. */
const pd_table_set *rank_kept_tables(rank_kept *self);
void rank_kept_free(rank_kept *self);

#endif
