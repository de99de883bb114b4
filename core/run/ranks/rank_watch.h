/*
 * Whether the other ranks are there: a thread, and a connection of each rank to rank 0, beside the communicators, which
 * say nothing of a rank that does not come.
 *
 * A connection that breaks is a rank that ended, and a rank that says nothing for the time allowed is stopped. One that
 * has begun fewer collectives than the others, for longer than that, hangs. What rank 0 learns it tells all ranks; each
 * then aborts what waits.
 */
#ifndef CORE_RUN_RANK_WATCH_H
#define CORE_RUN_RANK_WATCH_H

#include <pdhost/communicator.h>

#include <stdbool.h>

typedef struct rank_watch rank_watch;

/* What happens when a rank is lost. [the watch's own thread] */
typedef struct rank_watch_how {
  int64_t timeout_ns;
  void (*lost)(void *user);
  void *user;
} rank_watch_how;

/* All ranks: connects each with rank 0, whose address goes over `ranks`. NULL with its cause in `why`. [loop thread] */
rank_watch *rank_watch_open(const pd_ranks *ranks, const rank_watch_how *how, char *why, size_t room);
/* Tells the others that this rank is done, and waits until they are or are lost, so that no launcher ends one that
 * still writes. [loop thread] */
void rank_watch_close(rank_watch *self);

/* One more collective was begun. [loop thread] */
void rank_watch_count(rank_watch *self);
/* This rank fails, or leaves before the others do: they end, too. [loop thread] */
void rank_watch_tell(rank_watch *self, const char *why);
/* Whether a rank was lost: which, and why. [any thread] */
bool rank_watch_lost(rank_watch *self, uint32_t *rank, char *why, size_t room);

#endif
