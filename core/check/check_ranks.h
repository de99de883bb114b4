/* What the files of several ranks of one program show when compared. */
#ifndef CORE_CHECK_CHECK_RANKS_H
#define CORE_CHECK_CHECK_RANKS_H

#include "check_rows.h"
#include "run/ranks/rank_span.h"

/* What is kept of a file after its rows are gone. */
typedef struct check_rank {
  rank_span span;           /* of all events */
  int64_t *collective_ends; /* of the kernels that exchange data, by time; owned */
  uint64_t collective_count;
} check_rank;

/* PD_NO_MEMORY. `self` is to be freed in any case. */
pd_status check_rank_take(check_rank *self, const char *path, const check_rows *rows);
void check_rank_free(check_rank *self);

/* Findings of the files together. Files of which fewer than two name a rank are not compared. */
pd_status check_ranks(const check_rank *files, uint32_t count, check_findings *findings);

#endif
