/*
 * The gains: what the step would take if a cause of lost time were gone, by replaying the window's own calls, queues
 * and waits without it (replay.h). Gains do not add up: what one cause hides, another uncovers. The ledger, whose rows
 * do, says where time went; the gains say what acting on it brings. [one thread at a time for a trace]
 *
 * - gain of a cause = (step with it - step without it) / step now. The step now is the window's without what recording
 *   adds to it.
 * - A captured graph holds no blocking calls, pageable copies, allocations, computing or waits for input, so launching
 *   is credited with what it costs once those are gone, and with one pass where a step has several. It is never
 *   credited with more than it saves alone: launching that lies beside a busy device costs nothing. Kernels that are
 *   too short for any work go with their launches: fewer and larger kernels do their work. A graph keeps them.
 * - The interval is the middle 95 % of the gains of as many steps drawn with repetition (Efron, Bootstrap methods,
 *   Ann. Stat. 7 (1979)). Waits for input come in bursts of as many steps as the loader has workers, GAINS_WORKERS
 *   where that is unknown: that many neighbours are drawn at once (Politis, Romano, circular block bootstrap, 1992).
 *   Where single steps drawn do not agree on them, they are named, but not for sure: they may be one stall. Where what
 *   recording adds is estimated from the trace, the interval reaches to the gains at half and at 1.5 times as much.
 * - A cause is named if its gain is the largest, at least GAINS_LEAST_*, and the resamples' interval excludes half of
 *   that. On a GPU, launching is named and ranked by what a graph saves (gains_judge_worth): a cure that can be tried.
 *   What fewer and larger kernels would save beside it is only predicted and cannot be tried.
 *   Where several hide the same time, the one in whose time the device is idle is named.
 */
#ifndef CORE_LEDGER_GAINS_H
#define CORE_LEDGER_GAINS_H

#include "places.h"
#include "timeline.h"
#include "verdict.h"

#define GAINS_LEAST_CUDA 0.05
#define GAINS_LEAST_OTHER 0.10
/* The replay with nothing removed may miss the steps by this much: the median of the steps, and the worst. */
#define GAINS_MISS_MEDIAN 0.01
#define GAINS_MISS_WORST 0.03
/* What recording adds where it is neither known nor solved from the trace. Recording is as slow as the machine, and the
 * trace shows how slow: between the start of an operation and that of the first one in it lies little but recording. An
 * operation costs this many times the lower quartile of that time, and so does a call that launches. Fitted to the
 * measured gains of 120 traces of 14 models, and raised by a seventh with 56 traces of two models, when the gap between
 * the kernels of a graph was measured: with a seventh less, launching gains 4 points too much in the baselines of those
 * at the median, and other causes 3 too little. */
#define GAINS_OPERATION_NESTED 3.5
#define GAINS_LAUNCH_NESTED 2.8
/* No more than this of that quartile counts: it was 0.5 to 1.7 us in those traces, and where it is longer, as 7 us in
 * traces of PyTorch 1.8, what lies there is not recording alone. */
#define GAINS_NESTED_MOST_NS 1600
/* Where no operation lies in another, as in what pdhost record writes, a recorded launch shows how slow the machine is:
 * recording adds this many times the lower quartile of what the calls that launch took. It was fitted to four sets, 30
 * recorded programs on H200s: with it their steps are 1.04 to 1.06 times as long as unrecorded ones, by the median of
 * each set, and 1.07 to 1.12 times with 1. In processes that took turns a launch of a CNN took 6 to 9 us longer, and
 * that quartile was 6 to 7 us. */
#define GAINS_LAUNCH_RECORDED 1.3
/* No more than this of that quartile counts: a call that waits for room in a full queue takes as long as it has to. */
#define GAINS_LAUNCH_MOST_NS 10000
/* Recording one operation, where none lies in another. */
#define GAINS_OPERATION_NS 1500
/* A launch of a graph records each of its kernels: one of 300 kernels took 0.5 ms on an H200 while CUPTI recorded. */
#define GAINS_GRAPH_RECORD_NS 1500
/* What a launch of a graph takes longer to start than that of its first kernel. Steps that wait for the device keep it
 * without launching. With it, the copy of the batch and the gaps of timeline_limits.h, 93 savings of graphs on an H200,
 * of 53 kinds of steps, were missed by 0.8 points at the median and 4.1 at p95. */
#define GAINS_GRAPH_LAUNCH_NS 3000
/* A graph reads its batch at one place, and a batch that is on the device already is copied there. The two copies, of
 * images and labels, take GAINS_GRAPH_INPUT_NS together, and move the bytes at this part of the memory's peak rate. On
 * an H200 13.5, 15.6 and 21.6 MB took 11.6, 8.3 and 12.8 us; by this they take 11.4, 12.8 and 17. */
#define GAINS_GRAPH_INPUT_NS 2000
#define GAINS_GRAPH_INPUT_PART 0.6
/* A prediction of what a graph saves may be off by so much, however short the step. What is saved, less this, has to be
 * at least the least gain that is named. Of 137 savings on H200s that lie more than 0.4 points from that least gain, 1
 * of 59 below it would be named so, and 6 of 78 above it would not; with nothing taken off, 10 and 4. */
#define GAINS_GRAPH_DOUBT_NS 5000
/* At most half of the launching is the recorder's by an estimate, and at most three quarters where the run's own steps
 * say so: steps of 20 short kernels took 340 us on an H200 where CUPTI recorded, and 248 us without. */
#define GAINS_KEEP_LEAST 0.5
#define GAINS_KEEP_LEAST_KNOWN 0.25
/* The same where graphs launch most: a launch of 300 kernels took 0.5 ms while CUPTI recorded them. With a quarter of
 * that, steps of 0.64 ms counted as 0.70 ms, and with this share as 0.66 ms. */
#define GAINS_KEEP_LEAST_GRAPHS 0.02
/* How exactly the share is looked for: to this much, or until the step is as long but for this part of it. */
#define GAINS_KEEP_EXACT 1e-4
/* Two causes hide the same time if either saves this part of what the other does, and the second adds no more than the
 * rest. */
#define GAINS_ALIKE 0.7
/* Where the recorder's cost is estimated, gains miss measured effects by 3 to 5 points at the median (four sets of
 * traces), so two that differ by less than twice that may be the other way round. */
#define GAINS_NEAR 0.10
/* Where no operations are known either: 102 gains of 56 traces were missed by 9.4 points at the median, when 1.5 us
 * were taken off each call. */
#define GAINS_NEAR_BARE 0.19
/* The share of the draws that a verdict needs to be given without "possibly". */
#define GAINS_CERTAIN 0.9
/* A smaller gain is not mentioned. */
#define GAINS_MINOR 0.01
enum { GAINS_WORKERS = 8 };
enum { GAINS_RANKED = 3, GAINS_DRAWS = 1000, GAINS_DRAWS_LEAST = 20, GAINS_STEPS_DRAWN = 2000000, GAINS_SEED = 1 };

typedef struct gains_cause {
  bool applies;     /* the trace can show it */
  double gain;      /* may be below 0: the rest then takes longer */
  double captured;  /* of it, what a captured graph of the same kernels saves; of other causes than launching: all */
  double low, high; /* of its interval */
  double idle;      /* naive share: device idle while the host is the cause's, of the steps */
  double then_gain; /* the most that another cause brings, once this one is gone */
  uint32_t then;    /* that cause, VERDICT_none: nothing from GAINS_MINOR on */
} gains_cause;

/* What is left without the first, the first two, the first three causes of the ranking. */
typedef struct gains_combination {
  double gain;      /* of all of them together */
  double low, high; /* of its interval; of the first alone 0: it is that of its cause */
  double step_ns;
} gains_combination;

typedef struct gains {
  gains_cause causes[VERDICT_COUNT];
  uint32_t ranking[GAINS_RANKED]; /* causes that could be named, by gains_judge_worth */
  uint32_t ranked;
  gains_combination without[GAINS_RANKED];
  uint32_t cause; /* named, or VERDICT_none */
  /* Another that is named if recording costs half or 1.5 times what is estimated; VERDICT_COUNT: none, or it is known.
   */
  uint32_t close;
  uint32_t near; /* where that is an estimate: another whose worth is less by GAINS_NEAR at most; VERDICT_COUNT: none */
  /* Where launching is named and no operations are known: a cause that gains more if the launching beside its calls is
   * its own, and how much of a step that is; VERDICT_COUNT: none. */
  uint32_t beside;
  double beside_ns;
  uint64_t named[VERDICT_COUNT]; /* how many draws of the steps have each cause as the one of most worth */
  uint64_t agreeing, draws;      /* how many draws have this one, and how many were made */
  bool is_judged;                /* there are steps with calls and records */
  uint64_t steps;                /* that the figures rest on */
  double recorded_ns;            /* mean step as recorded */
  double step_ns;                /* the same without what recording adds: what the gains are of */
  bool cost_known;               /* what recording adds, from the run itself */
  /* Where it is known: of a step, with its 95 % interval; and of each record. The interval is the twin's (pd_twin),
   * else that of the recorded steps' median (order statistics; the unprofiled steps' own is not known). 0: recording
   * adds nothing that can be told. */
  double added_ns, added_low_ns, added_high_ns, record_ns, record_low_ns, record_high_ns;
  uint32_t twin_rounds;  /* that this is from; 0: from the steps before the profiler */
  double keep;           /* how much of the launching is the program's own */
  double launch_cost_ns; /* of a step: the host's launching that is not, whether or not the step waits for it */
  double busy;           /* of the steps' time */
  double uncopied;       /* what the step saves beside the gain of waiting for input if no batch is copied either */
  double unsynced;       /* what the step saves as a graph, beside what launching saves, if nothing blocks either */
  double loader_ns;      /* the loader needs so long for a batch, at most recorded_ns; 0: not known */
  double miss_median, miss_worst; /* of the replay with nothing removed, against the steps as recorded */
  double unlinked;                /* device records without a call, of all */
  uint64_t passes;
  bool input_unmarked; /* waits for input are silences before a copy, since the trace marks none */
  bool input_by_pace;  /* as recorded the loop waits for no batch; without the recorder, by loader_ns, it would */
  bool input_in_few;   /* so few steps have waits that single steps drawn do not agree on them */
  bool passes_unsure;  /* small batch is named, and saves too little if kernels take longer for more samples */
  double hops;
  intervals host[TIMELINE_OWNERS], made; /* timeline.h */
  place where; /* most of the named cause's calls; all 0: not known, or it is no matter of calls */
} gains;

/* Whether the cause that is named holds: it follows from what is recorded, GAINS_CERTAIN of the draws have it, so have
 * half and 1.5 times the recorder's estimated cost, no other is near, and none would be if what lies beside its calls
 * were its own. */
bool gains_are_sure(const gains *self);
/* false on no memory. Free it in any case. */
bool gains_find(const trace_facts *facts, gains *out);
void gains_free(gains *self);

#endif
