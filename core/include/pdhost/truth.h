/*
 * Truth extension: a scenario tells the host what it injects, and the host measures it. The result is in
 * truth.json beside the results, for whoever judges a diagnosis; the verdict does not read it.
 */
#ifndef PDHOST_TRUTH_H
#define PDHOST_TRUTH_H

#include "device.h"

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

  /* What each step was asked to have: microseconds, below 0 where time is not what is set, and how many things, 0
   * where they are not. The last call before a step counts. [loop thread] */
  void (*asked)(const struct pd_truth *truth, double us, uint64_t count);
  /* `count` things were injected, whose time cannot be told from the step's own. [loop thread] */
  void (*count)(const struct pd_truth *truth, uint64_t count);
  /* The device's time from begin to end belongs to what is injected; each may be on a stream of its own. Recorded as
   * events, read after the window. Not nested. [loop thread] */
  pd_status (*device_begin)(const struct pd_truth *truth, pd_stream *stream);
  pd_status (*device_end)(const struct pd_truth *truth, pd_stream *stream, uint64_t count);
} pd_truth;

/* Call the table through these: `truth` may be NULL, where the host has none. */
static inline void pd_truth_begin(const pd_truth *truth) {
  if (truth) truth->begin(truth);
}
static inline void pd_truth_end(const pd_truth *truth, uint64_t count) {
  if (truth) truth->end(truth, count);
}
static inline void pd_truth_asked(const pd_truth *truth, double us, uint64_t count) {
  if (truth && PD_HAS(pd_truth, truth, asked)) truth->asked(truth, us, count);
}
static inline void pd_truth_count(const pd_truth *truth, uint64_t count) {
  if (truth && PD_HAS(pd_truth, truth, count)) truth->count(truth, count);
}
static inline pd_status pd_truth_device_begin(const pd_truth *truth, pd_stream *stream) {
  return truth && PD_HAS(pd_truth, truth, device_end) ? truth->device_begin(truth, stream) : (pd_status)PD_OK;
}
static inline pd_status pd_truth_device_end(const pd_truth *truth, pd_stream *stream, uint64_t count) {
  return truth && PD_HAS(pd_truth, truth, device_end) ? truth->device_end(truth, stream, count) : (pd_status)PD_OK;
}

#ifdef __cplusplus
}
#endif
#endif
