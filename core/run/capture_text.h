/* What a capture says of its run, as JSON: who ran what, what each window was delivered with, and how it ended. */
#ifndef CORE_RUN_CAPTURE_TEXT_H
#define CORE_RUN_CAPTURE_TEXT_H

#include "base/arena.h"
#include "facts/processor_use.h"

#include <pdhost/sink.h>

/* What the analysis needs of a run beside pd_run. */
typedef struct capture_about {
  uint32_t cores, tf32;
  uint32_t writer; /* the process that the sinks were in when it began; 0: none */
} capture_about;

/* What a window was delivered with. */
typedef struct capture_delivery {
  uint32_t window, partial;
  const char *disturbance; /* NULL: nothing disturbed it */
  bool has_usage;
  proc_usage usage;
} capture_delivery;

/* Each returns a malloc'ed text, NULL on no memory. Bytes that are no UTF-8 become U+FFFD. */
char *capture_run_text(const pd_run *run, const capture_about *about);
char *capture_device_text(const pd_device_props *device);
char *capture_delivery_text(const capture_delivery *delivery);
/* Without what follows from the steps. `written`: of pd_note, the files that the run wrote beside its sinks. */
char *capture_summary_text(const pd_summary *summary, const pd_array *written);

/* The way back. False: the text is not one of these, or there is no memory. Texts and rows are in `memory`. What the
 * text lacks is 0 or "". */
bool capture_run_parse(const char *text, arena *memory, pd_run *run, capture_about *about);
bool capture_device_parse(const char *text, arena *memory, pd_device_props *device);
bool capture_delivery_parse(const char *text, arena *memory, capture_delivery *delivery);
bool capture_summary_parse(const char *text, arena *memory, pd_summary *summary, pd_array *written);

#endif
