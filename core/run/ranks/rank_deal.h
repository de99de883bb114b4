/*
 * Runs that are dealt to the ranks of a launcher, or to the tasks of a Slurm array: each makes its own, in a folder
 * that all see, and rank 0 gathers them when all are done. No task of an array gathers: the same command does, run once
 * more.
 */
#ifndef CORE_RUN_RANK_DEAL_H
#define CORE_RUN_RANK_DEAL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rank_deal {
  uint32_t rank, count; /* count 1: nothing is dealt */
  bool is_array;
  char job[96]; /* what this launch is called, so that marks of an earlier one are not taken for its own */
} rank_deal;

/* From the launcher's environment, which programs started from now on do not see: they are no ranks. */
rank_deal rank_deal_find(void);
/* Before this rank's runs, in the folder that all see: removes marks that an earlier launch of the same name has left,
 * its own and, by rank 0, those that are older than ranks of one launch begin apart. */
void rank_deal_begin(const rank_deal *self, const char *folder);
static inline bool rank_deal_has(const rank_deal *self, uint32_t run) { return run % self->count == self->rank; }

/* A rank whose launcher does not end the others when it ends leaves no mark. It is not waited for once the folder, and
 * what lies in it, has stayed as it is for this long: a run changes it when it begins and when it ends. */
#define RANK_DEAL_QUIET_S 3600

/* Rank 0 alone: until all others have left their mark. False: a signal came, or a rank did not in `quiet_s` seconds
 * without a change, which is said. [main thread] */
bool rank_deal_wait(const rank_deal *self, const char *folder, int64_t quiet_s);

/* This rank's runs are made; FOLDER/dealt/ has a mark of it. True: this is the rank that gathers, and all are done.
 * False: it does not gather, which is said, or a signal came. [main thread] */
bool rank_deal_gathers(const rank_deal *self, const char *what, const char *folder);

#endif
