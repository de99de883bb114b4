/*
 * Progress extension: tells the user what takes a while, for as long as it lasts, where there is a progress line.
 */
#ifndef PDHOST_PROGRESS_H
#define PDHOST_PROGRESS_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PD_EXT_PROGRESS "pdhost.progress/1"

typedef struct pd_progress {
  uint32_t size;
  uint32_t reserved;
  void *impl;
  /* `what` is copied: "making 4 resident batches". NULL: it is over. Not for every step. [any thread] */
  void (*doing)(const struct pd_progress *progress, const char *what);
} pd_progress;

/* For a host that may have none. */
static inline void pd_progress_doing(const pd_host *host, const char *what) {
  const pd_progress *progress = (const pd_progress *)host->extension(host, PD_EXT_PROGRESS);
  if (progress) progress->doing(progress, what);
}

#ifdef __cplusplus
}
#endif
#endif
