/* What the conformance checks share: a check is a function that runs in a child process, in an empty folder, and gives
 * a verdict. check_plugin.c runs the lists of check_scenario.c, check_sink.c, check_device.c and check_reader.c. */
#ifndef CORE_CONFORM_CHECK_LIST_H
#define CORE_CONFORM_CHECK_LIST_H

#include "config/config.h"

#include <stdarg.h>
#include <stdlib.h>

/* Exit codes of a check's child: none that a plugin's own exit() would have. */
typedef enum check_outcome {
  CHECK_OK = 101,
  CHECK_FAILED = 102,
  CHECK_SKIPPED = 103,
  CHECK_BROKEN = 104
} check_outcome;

typedef struct check_verdict {
  check_outcome outcome;
  char why[1024];
} check_verdict;

typedef struct check_target {
  const char *path;
  const plugin *plugin; /* NULL while it has not been loaded */
  const pd_plugin *table;
  const char *device;             /* that real runs use: name or path */
  const char *plugin_path;        /* NULL: none was given */
  char section[64];               /* of its keys: "scenario", "sink.NAME", "device" */
  const config_assignment *given; /* the user's, of keys that check_given.c let pass */
  uint32_t given_count;
  const char *folder; /* the check's own, in which it runs; the whole path */
  char *progress;     /* CHECK_PROGRESS_BYTES, shared with the parent: what was being tried, for when it crashes */
} check_target;

enum { CHECK_PROGRESS_BYTES = 256 };
void check_progress(const check_target *target, const char *format, ...) PD_PRINTF(2, 3);

typedef struct check {
  const char *description; /* NULL ends a list */
  check_verdict (*run)(const check_target *target);
} check;

/* Three steps of the program's own run with the plugin in its place: as scenario, as sink of control's window, or as
 * device. check_run.c */
check_verdict check_real_run(const check_target *target);

extern const check check_scenario_list[], check_sink_list[], check_device_list[], check_reader_list[];

check_verdict check_ok(void);
check_verdict check_verdict_of(check_outcome outcome, const char *format, ...) PD_PRINTF(2, 3);

/* Threads of this process, and whether there are no more than `before`. */
uint32_t check_thread_count(void);
check_verdict check_threads_gone(uint32_t before);

/* A row's default, or a value it takes where it has none. */
const char *check_stand_in(const pd_option *row);

/* Names the section of the plugin's keys and takes the user's assignments: for the plugin, which then stand in place of
 * its defaults, and for the sections of the real run. Mistakes go to `err`. `input` is borrowed. */
pd_status check_given_take(check_target *target, const config_input *input, error *err);
/* What the user gave for a key of the plugin's; NULL: nothing. */
const char *check_given_value(const check_target *target, const char *key);

/* The plugin's options struct filled with what was given and else its defaults; `key` gets `text` instead when it is
 * not NULL. NULL on no memory. The caller frees it. Strings are borrowed from the rows. */
void *check_options(const check_target *target, const char *key, const char *text);

/* Calls `body` with the defaults, then with each bound and each choice of each option; stops at the first failure. */
check_verdict check_each_bound(const check_target *target,
                               check_verdict (*body)(const check_target *target, const void *options));

#endif
