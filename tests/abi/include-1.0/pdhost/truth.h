/*
 * Truth extension: a scenario tells the host what it injects, and the host measures it. What comes of it stands in
 * truth.json beside the results, for whoever judges a diagnosis; the verdict does not read it.
 */
#ifndef PDHOST_TRUTH_H
#define PDHOST_TRUTH_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PD_EXT_TRUTH "pdhost.truth/1"

typedef struct pd_truth {
  uint32_t size;
  uint32_t reserved;
  void *impl;
  /* Host time of the calling step from begin to end belongs to what is injected. Not nested. [loop thread] */
  void (*begin)(const struct pd_truth *truth);
  /* `count`: how many things were injected since begin: reads, copies, temporaries. [loop thread] */
  void (*end)(const struct pd_truth *truth, uint64_t count);
} pd_truth;

/* For a host that may have none: `truth` is NULL then. */
static inline void pd_truth_begin(const pd_truth *truth) {
  if (truth) truth->begin(truth);
}
static inline void pd_truth_end(const pd_truth *truth, uint64_t count) {
  if (truth) truth->end(truth, count);
}

#ifdef __cplusplus
}
#endif
#endif
