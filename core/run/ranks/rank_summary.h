/*
 * Several ranks together: what each waits for, and who holds up the others. No common clock is needed: a collective
 * ends on all ranks at about the same moment. So for the k-th collective of a kind in a step
 *   transfer = the shortest duration over the ranks,
 *   wait of rank r = its duration - transfer,
 * and the rank without a wait is the one that came last. Seen alone, a rank that waits looks as if it communicated.
 *
 * - straggler: one rank comes last often and by much, and the step would be shorter without it: the others need less
 *   time, by their hosts without what they waited for it, and by their devices. That has to be more than recording
 *   adds to a step, which differs between ranks, too. Its own cause is what it does more of in a step than the median
 *   of the others: device time of its own (uneven work; a slow device, where all were given the same work), or idle
 *   device time of a cause of the verdict.
 * - Where all are balanced as recorded, recording itself may be what makes them alike: it slows down the hosts, and
 *   not the devices. So it is asked once more what each rank would need without it. What shows then is the devices':
 *   a host that needs longer than the others does so as recorded, too. Such a verdict is only possible, and has to be
 *   worth more than RANKS_COST_DOUBT of what recording costs. Where it would only be one if recording cost
 *   RANKS_COST_MOST times its estimate, the verdict is withheld.
 * - comm_not_overlapped, comm_bound: the transfer itself holds up the step, with most of it beside no computing, or
 *   although it is hidden where it can be. Only where all ranks are there: what looks like a transfer may otherwise
 *   hold the wait for a rank whose file is missing. [loop thread]
 */
#ifndef CORE_RUN_RANK_SUMMARY_H
#define CORE_RUN_RANK_SUMMARY_H

#include "rank_clock.h"
#include "rank_operations.h"
#include "rank_side.h"
#include "rank_span.h"

/* The share of the step that is worth a verdict, as for a cause on a GPU (gains.h). */
#define RANKS_LEAST 0.05
/* The same on another device, whose ranks may share the cores, and whose steps differ more from one to the next. */
#define RANKS_LEAST_OTHER 0.15
/* The share of the steps in which a straggler comes last, by the sum of the waits that it causes, and its share of all
 * waits: chance alone gives each of N ranks 1/N of both. */
#define RANKS_STEPS_LAST 0.75
#define RANKS_CAUSED 0.75
/* Below this share of the transfer beside computing it is called not overlapped. */
#define RANKS_OVERLAPPED 0.5

/* What recording costs, as a multiple of what is estimated, usually and at most: of nine PyTorch DDP programs on two
 * H200 whose hosts set the step, their steps took less without a profiler by 1.4 to 2.0 times the estimate. */
#define RANKS_COST_USUAL 1.5
#define RANKS_COST_MOST 2.0
/* How much of that may differ between ranks by chance. */
#define RANKS_COST_DOUBT 0.2

/* With fewer steps nothing is said. */
enum { RANKS_STEPS_LEAST = 3 };

typedef enum ranks_verdict {
  RANKS_NONE,
  RANKS_STRAGGLER,
  RANKS_COMM_BOUND,
  RANKS_NOT_OVERLAPPED,
  RANKS_UNEVEN,     /* a straggler whose device computes longer */
  RANKS_SLOW_DEVICE /* and that for the same work, as far as the traces say */
} ranks_verdict;

/* The collectives of one name and size. */
typedef struct rank_message {
  const char *name; /* of the kernel */
  uint64_t bytes, count;
  double transfer_ns; /* of all of them */
  /* In bytes per ns: what a rank gives over the time, and the same by what any algorithm has to send over the slowest
   * link, as nccl-tests define it: times 2 (n-1)/n for an all-reduce of n ranks. 0: not known. */
  double algorithm, bus;
} rank_message;

typedef struct rank_figures {
  const rank_side *side;
  /* Per step, in ns: */
  double step_ns;
  double wait_ns, transfer_ns;                 /* of its collectives that were matched */
  double exposed_wait_ns, exposed_transfer_ns; /* of them, with no computing beside */
  double host_ns;   /* what its host needs for a step, with what recording adds and without what it waits for others */
  double need_ns;   /* the step without waits for other ranks: by the host or by the device, what takes longer */
  double caused_ns; /* how long the others wait on average for this rank, where it comes last */
  /* What the ledger's owner communication has, over all steps: the rest of it is in collectives that not all ranks
   * have, or that were launched before the steps. */
  int64_t comm_wait_ns, comm_transfer_ns;
  uint64_t last;       /* collectives in which it comes last */
  uint32_t steps_last; /* steps in which it causes the most */
  int64_t *transfers;  /* of each collective of the side: rank_operations_make() */
  rank_operations operations;
} rank_figures;

typedef struct rank_summary {
  /* Why nothing can be said of the files together. There is then no rank here. "": something can. */
  char withheld[RANK_SPANS_TEXT];
  rank_figures *ranks; /* by rank */
  uint32_t count;
  uint32_t steps;              /* that all ranks have */
  uint64_t matched, unmatched; /* collectives that all ranks have, and that not all have */
  uint32_t of;                 /* ranks that the program has, as the files say; 0: they do not */
  double step_ns;              /* of the loop: the longest of all ranks, by its host or by its device */
  /* Where the ranks' clocks were compared: their bound and drift, and how much the waits by start times
   * differ from those by durations, on average. bound_ns below 0: they were not. */
  int64_t bound_ns, drift_ns;
  double skew_difference_ns;
  rank_message *messages; /* the largest first */
  uint32_t message_count, message_room;
  ranks_verdict verdict;
  bool is_possible;     /* only without what recording adds */
  double unrecorded_ns; /* then: the step without it, which `share` is of */
  /* What recording hides, or, where the verdict is RANKS_NONE, may hide: RANKS_UNEVEN, RANKS_SLOW_DEVICE,
   * RANKS_NOT_OVERLAPPED or RANKS_NONE. */
  ranks_verdict hidden;
  double share;       /* of the step, what it would be shorter by without what the verdict names */
  uint32_t straggler; /* index into ranks */
  double late_ns;     /* what the step would be shorter by without it, where the verdict is on transfers; 0: nothing */
  uint32_t cause;     /* of its own: a VERDICT_*; VERDICT_none: its device; VERDICT_COUNT: not known */
  double cause_ns;    /* of a step: more than the others in the middle */
} rank_summary;

/* `sides` are finished and outlive the summary. `clock`: of ranks 0 to count - 1, or NULL. False on no memory; free it
 * in any case. */
bool rank_summary_make(const rank_side *sides, uint32_t count, const rank_clock *clock, rank_summary *out);
void rank_summary_free(rank_summary *self);

const char *ranks_verdict_key(ranks_verdict of);
/* Whether a verdict on several ranks names a cause that one rank's has no word for: uneven_work, and those of
 * communication. */
bool ranks_verdict_is_cause(const char *key);

#endif
