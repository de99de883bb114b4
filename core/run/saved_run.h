/* A run of pdhost as a process of its own, in a folder that remembers what filled it (saved_key.h): the command, this
 * program, its plugins, and what the files of its -c held. The same finds its results there. That is written last, so
 * an interrupted run is not taken for whole. [loop thread] */
#ifndef CORE_RUN_SAVED_RUN_H
#define CORE_RUN_SAVED_RUN_H

#include "base/error.h"

/* Zeroed at first. */
typedef struct saved_run {
  char **words; /* the program first; ends with NULL */
  uint32_t count, room;
  bool failed; /* no memory for a word */
} saved_run;

void saved_run_word(saved_run *self, const char *word);
/* "-o key=value" */
void saved_run_set(saved_run *self, const char *key, const char *value);
void saved_run_clear(saved_run *self);

/* Whether `folder` holds what this command left, with program, plugins and files as they are now. */
bool saved_run_is_there(const saved_run *self, const char *folder);

/* The last error in `folder`/log, else its last line; "" where there is none. */
const char *saved_run_said(const char *folder, char *line, size_t room);

/* Runs it, with its standard error in `folder`/log; a signal that comes meanwhile (signals.h) is handed on to it
 * alone, in a process group of its own; it ends when this process does. It is remembered when it ended with CODE_DONE
 * or CODE_UNTRUSTED. *code is its exit code, or 128 + signal. False: it could not be run or remembered, its log not be
 * written, or a signal ended it, which `err` says. */
bool saved_run_do(const saved_run *self, const char *folder, int *code, error *err);

#endif
