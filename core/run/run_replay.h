/* A capture to its sinks: every call of theirs that the run made, with the same rows. [loop thread] */
#ifndef CORE_RUN_RUN_REPLAY_H
#define CORE_RUN_RUN_REPLAY_H

#include "config/config.h"

typedef struct replay_request {
  const char *path;       /* of the capture */
  const config *settings; /* the sinks that it names are called */
  const char *trace_dir;  /* where they write; NULL: where the run did */
  const char *reason;     /* why a run without an end ended, "ended by signal 11"; NULL: not known */
  uint64_t without;       /* bit i: sink i of the settings is left out */
  const uint32_t *died;   /* processes whose unfinished files are removed */
  uint32_t died_count;
  bool quiet;
} replay_request;

/* Reads it through the reader "capture". Prints what goes wrong, and what is missing. CODE_DONE; CODE_OUTPUT where a
 * sink failed; CODE_CONFIG where the file is no capture or holds nothing of a run; CODE_PLUGIN without the reader. */
int replay_run(const replay_request *request);

/* The settings that the user gave the run of a capture, as assignments for config_load, malloc'ed with their texts as
 * one block; NULL: the cause was printed, or `err` says it. `readers`: settings with the readers. */
config_assignment *replay_settings(const config *readers, const char *path, uint32_t *count, error *err);

#endif
