/*
 * Runs a sink plugin as the host would, with files in memory: which were written, committed, announced or thrown away
 * is there to look at, and a write may be made to fail.
 */
#ifndef TESTS_SUPPORT_SINK_RUN_H
#define TESTS_SUPPORT_SINK_RUN_H

#include "test_host.h"

#include <pdhost/sink.h>

typedef struct memory_file {
  char *path, *data; /* data has a 0 behind it */
  uint64_t bytes;
  bool committed, discarded, announced;
} memory_file;

typedef struct sink_run {
  test_host host;
  pd_files files;
  memory_file *all[128];
  uint32_t count, told;
  uint64_t fail_after_bytes; /* writes fail once so much was written in all; 0: never */
  uint64_t written_bytes;
  bool fail_commit; /* files cannot get their final name */
  void *library;
  const pd_plugin *plugin;
  void *options, *state;
  char error[512]; /* why sink_run_open returned false */
} sink_run;

/* Loads `plugin_path` and fills its options: their defaults, then `settings` ("key=value", NULL at the end). */
bool sink_run_load(sink_run *self, const char *plugin_path, const char *const *settings);
pd_status sink_run_open(sink_run *self, const pd_run *run);
/* Steps of fake_run.c's summary, every one. */
pd_status sink_run_steps(sink_run *self);
pd_status sink_run_trace(sink_run *self, const pd_trace *trace);
pd_status sink_run_close(sink_run *self, const pd_summary *summary);
/* Frees everything; the sink must be closed. */
void sink_run_unload(sink_run *self);

/* The committed file of that path, or NULL. */
const memory_file *sink_run_file(const sink_run *self, const char *path);
/* Writes all committed files below `folder` on the disk. */
bool sink_run_save(const sink_run *self, const char *folder);

#endif
