/* Gives a capture to the sinks: every call that the run made of them, with the same rows. [loop thread] */
#ifndef CORE_RUN_RUN_REPLAY_H
#define CORE_RUN_RUN_REPLAY_H

#include "config/config.h"

typedef struct replay_request {
  const char *path;       /* of the capture */
  const config *settings; /* the sinks that it names are called */
  const char *trace_dir;  /* where they write; NULL: where the run did */
  const char *reason;     /* why a run without an end ended, "ended by signal 11"; NULL: not known */
  /* For each sink of the settings, not 0: it is left out. It is set for a sink that fails. NULL: none is left out. */
  unsigned char *left_out;
  const uint32_t *died; /* processes whose unfinished files are removed */
  uint32_t died_count;
  _Atomic uint64_t *printed; /* bytes that writers of this capture wrote to standard output; NULL: there were none */
  bool quiet;
  bool follows; /* the run goes on, or ended just now: this process is its writer (writing/feed.h) */
} replay_request;

/* Reads it through the reader "capture"; a capture that is followed is waited for, from its begin on. Prints what goes
 * wrong, and what is missing. CODE_DONE; CODE_OUTPUT where a sink failed; CODE_CONFIG where the file is no capture or
 * holds nothing of a run; CODE_PLUGIN without the reader. */
int replay_run(const replay_request *request);

/* The settings that the user gave the run of a capture, as assignments for config_load, malloc'ed with their texts as
 * one block; NULL: the cause was printed, or `err` says it. `readers`: settings with the readers. */
config_assignment *replay_settings(const config *readers, const char *path, uint32_t *count, error *err);

#endif
