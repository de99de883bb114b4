/*
 * The collector: CUPTI's records from the callbacks to pd_record, window by window.
 *
 * The functions are the loop thread's. A thread of the collector's own takes the filled buffers, decodes them and does
 * every flush; CUPTI's callbacks only move buffers. There is one collector at a time in a process, as there is one
 * CUPTI.
 */
#ifndef DEVICES_CUDA_CUPTI_COLLECT_H
#define DEVICES_CUDA_CUPTI_COLLECT_H

#include "cupti_api.h"
#include "cupti_decode.h"

#include <pdhost/device.h>

/* What becomes of CUPTI between two windows. AUTO detaches: on an H200 with CUPTI 13.0.1 a launch outside windows then
 * costs what it costs without CUPTI (3.0 us), against 3.7 us disabled and 4.2 us kept; each later window pays 7 ms at
 * its start and 1 to 3 ms at its end. Graphs keep their nodes and ids through it, captured before CUPTI or after
 * (bench/cupti/idle.c, tests/devices/cupti/gpu_cupti.c). */
typedef enum cupti_between {
  CUPTI_BETWEEN_AUTO,
  CUPTI_BETWEEN_KEEP,    /* all stays on; records are let go */
  CUPTI_BETWEEN_DISABLE, /* kinds and calls are switched off */
  CUPTI_BETWEEN_DETACH   /* the library is given back */
} cupti_between;

typedef struct cupti_collect_config {
  const cupti_api *api; /* both borrowed until close */
  const pd_record *record;
  const pd_device_props *props;
  uint64_t max_bytes;
  cupti_between between;
  bool sync; /* synchronisation records too */
} cupti_collect_config;

typedef struct cupti_collect cupti_collect;

/* What a drain found. */
typedef struct cupti_drained {
  bool complete;        /* every launch has its records */
  bool graphs_empty;    /* graphs were launched, and none of their kernels was recorded */
  bool loop_complete;   /* every launch of the thread that stopped the window has */
  uint32_t polls;       /* flushes it took */
  uint32_t held;        /* buffers of the window that CUPTI keeps */
  uint32_t others_held; /* of them, those that other threads' work keeps */
  uint64_t pending;     /* launches still without a record */
  uint64_t nodes;       /* records that graphs' launches with some still lack */
  uint64_t refused;     /* requests for a buffer since the window began that got none: max_bytes are in use */
  uint64_t twins;       /* calls that had their id from another call, see cupti_twin */
  int64_t early_ns;     /* by how much a device record begins before its call, at most */
} cupti_drained;

/* Attaches, starts the thread and maps the first buffers. `why` holds one clause on failure. */
pd_status cupti_collect_open(const cupti_collect_config *config, cupti_collect **out, char *why, size_t why_bytes);
/* Detaches, with a forced flush, and frees all that CUPTI does not hold. Returns the counts with what that flush has
 * brought. NULL is fine. */
cupti_counts cupti_collect_close(cupti_collect *self);

pd_status cupti_collect_start(cupti_collect *self, char *why, size_t why_bytes);
void cupti_collect_stop(cupti_collect *self);
/* Waits for the launches of the thread that stopped the window until the timeout, and for other threads' as long as
 * some of them still come: CUPTI gives no buffer back while its thread has work on the device, and another thread may
 * always have some. Then closes the window and does what is due between windows. */
void cupti_collect_drain(cupti_collect *self, int64_t timeout_ns, cupti_drained *drained);

/* Counts so far. */
void cupti_collect_counts(cupti_collect *self, cupti_counts *counts);
/* What the library reported as its own end (a CUptiResult), or 0. */
int32_t cupti_collect_failed(const cupti_collect *self);

#endif
