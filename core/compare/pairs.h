/* Two runs, task by task: ratio, interval, verdict, and what else differs. [loop thread] */
#ifndef CORE_COMPARE_PAIRS_H
#define CORE_COMPARE_PAIRS_H

#include "comparison.h"
#include "samples.h"

typedef struct sample_pair {
  const sample *a, *b; /* b against a */
  resample_ratio of;
  paired_ratio rounds; /* `pdhost ab` took both in turns; 0 rounds: it did not */
  outcome verdict;
  bool timeless; /* a time is zero: there is no ratio */
} sample_pair;

typedef struct sample_pairs {
  sample_pair *all;
  uint32_t count;
  const sample **alone; /* tasks that only one of the runs has */
  uint32_t alone_count;
} sample_pairs;

/* Two files: tasks of the same name, or of the same label alone where each file holds one task. One file of two samples
 * of one label: these two. What `pdhost ab` took in turns needs no common label. Otherwise there are no pairs: labels
 * have tables of their own. With `against` each of the other files is compared with the first. False on no memory. */
bool sample_pairs_make(const samples *from, double margin, bool against, sample_pairs *out);
void sample_pairs_free(sample_pairs *self);

/* Their names: "batched dot: mul_sum -> bmm, 10000 x 64" where they have different ones. */
const char *sample_pair_title(const sample_pair *self, char *text, size_t room);
/* What the two sides of a pair are called. */
const char *sample_pair_side(const samples *from, const sample *of, const sample *other, char *text, size_t room);

/* Calls `tell` for the scenario, the device and each version and option in which the two sides differ; NULL: not there.
 */
void sample_pair_differences(const sample_pair *self,
                             void (*tell)(void *user, const char *key, const char *a, const char *b), void *user);

#endif
