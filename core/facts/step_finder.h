/*
 * The steps of a program that did not mark them. The loop is found by what it launches: the sequence of (kernel, grid)
 * in launch order repeats with a period, in at least half of the launches. Periods nest (a layer, a micro-batch, a
 * step), so the one that is taken agrees best, and it has to hold what only a step has: an optimizer's kernel, or a
 * copy of a batch from the host, of the same size each time. Without either it has to repeat more often than any
 * network has layers. What comes before and after the loop belongs to no step. "No loop" is an answer. [any thread]
 *
 * A step ends after its last launch, the ranges around that and the loop's waits for it: in the middle of the time up
 * to what is recorded next, where a loop that marks its steps sets the mark.
 */
#ifndef CORE_FACTS_STEP_FINDER_H
#define CORE_FACTS_STEP_FINDER_H

#include "trace/trace_steps.h"

/* A period is a loop when it repeats at least this often, with at least this share of launches equal to the ones a
 * period before, and when at most this share of the device records lacks its launch. */
#define STEP_FINDER_REPEATS 3
#define STEP_FINDER_MATCH 0.95
#define STEP_FINDER_UNMATCHED 0.01

/* What interrupts a training loop leaves it at least this many steps in a row. Fewer may be the parts of one step, as
 * where one network is trained five times for each time of the other. */
#define STEP_FINDER_BLOCK 10

/* A period is a loop whatever it holds when it repeats this often, with this share alike. */
#define STEP_FINDER_MANY 200
#define STEP_FINDER_MANY_MATCH 0.995

/* The first steps of a program load and tune what they need. In a loop of this many steps, those at its beginning are
 * left out that take longer than this multiple of the median and this much longer than it. */
#define STEP_FINDER_WARM_STEPS 20
#define STEP_FINDER_WARM_TIMES 3
#define STEP_FINDER_WARM_NS 50000000

typedef struct found_steps {
  step_bounds *bounds;  /* in order and back to back; freed by found_steps_free */
  uint64_t count;       /* 0: none */
  uint64_t period;      /* kernels a step; 0: not found by a period */
  double match;         /* 0 to 1 */
  uint64_t warm;        /* steps at the beginning that were left out */
  char words[256];      /* how they were found, or why no loop was; no full stop */
  char warm_words[192]; /* to be put after them: which ones were left out; "": none */
} found_steps;

/* Whether only an optimizer launches a kernel of this name. */
bool step_finder_is_optimizer(const char *kernel);

/* By the period of the launches. Reads no mark. PD_NO_MEMORY is the one failure. */
pd_status step_finder_find(const pd_trace *trace, found_steps *out);

typedef bool step_finder_is_one(const char *name, const void *user);
/* The ranges whose name is one, on the thread that has the most of them; those of no one thread count as those of one.
 * A range within another one does not count. Fills no words. PD_NO_MEMORY is the one failure. */
pd_status step_finder_ranges(const pd_trace *trace, step_finder_is_one *is_one, const void *user, found_steps *out);

/* Those called `name`, or `name` followed by # and more. A name that ends in a star stands for all that begin so. */
pd_status step_finder_named(const pd_trace *trace, const char *name, found_steps *out);

void found_steps_free(found_steps *self);

#endif
