/* The run in a capture, as its reader gives it record by record: what it was, its steps, its windows as they went to
 * the sinks, and its end. [loop thread] */
#ifndef CORE_RUN_IMPORT_CAPTURED_RUN_H
#define CORE_RUN_IMPORT_CAPTURED_RUN_H

#include "capture/capture_kept.h"
#include "run/capture_text.h"
#include "trace/saved_window.h"

#include <pdhost/reader.h>

/* Each returns an exit code; anything but CODE_DONE ends the reading. Those that are NULL are not called. */
typedef struct captured_listener {
  void *user;
  int (*step)(void *user, const pd_step_stats *step, uint64_t index);
  /* `delivery` NULL: the run ended before the window went to the sinks; it is marked partial. The trace is freed
   * afterwards, and its device may have changed since the window before. */
  int (*window)(void *user, pd_trace *trace, const capture_delivery *delivery);
  /* What is of all ranks: CAPTURE_RANK, CAPTURE_RANK_CLOCKS. */
  void (*ranks)(void *user, const pd_captured *record);
  /* What is missing of a window, without the file's name, and how many parts of it. */
  void (*damage)(void *user, uint64_t count, const char *text);
} captured_listener;

/* Zeroed at first, but for the listener. */
typedef struct captured_run {
  captured_listener listener;
  pd_run run; /* size 0: not known. Its texts are in `memory` */
  capture_about about;
  pd_device_props device; /* as it was told last; size 0: not yet */
  pd_summary summary;     /* without what follows from the steps; size 0: the run had no end */
  pd_array written;       /* of pd_note: files that the run wrote beside its sinks */
  uint64_t windows;       /* that the listener had */
  pd_status status;       /* PD_NO_MEMORY sticks */
  int code;               /* what the listener returned last */
  arena memory;
  char *device_text; /* what `device` was made of */
  uint32_t device_bytes;
  capture_kept kept; /* the window that waits for its delivery, from its first record on; none: none waits */
  saved_strings strings;
  bool is_open;
} captured_run;

void captured_run_take(captured_run *self, const pd_captured *record);
/* No record follows: gives the window that waits. */
void captured_run_end(captured_run *self);
void captured_run_free(captured_run *self);

#endif
