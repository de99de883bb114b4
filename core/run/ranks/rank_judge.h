/* The verdict on several ranks, of what rank_summary.c has summed up: rank_summary.h says when there is which. */
#ifndef CORE_RUN_RANK_JUDGE_H
#define CORE_RUN_RANK_JUDGE_H

#include "rank_summary.h"

/* Fills the verdict, its share, the straggler and its cause. `scratch` has room for a figure of each rank. */
void rank_judge(rank_summary *self, double *scratch);

#endif
