/* Runs a function in a child process, so that a plugin that crashes, hangs or prints does no harm. For --list and
 * --check-plugin. [loop thread; no other thread exists yet] */
#ifndef CORE_BASE_CHILD_H
#define CORE_BASE_CHILD_H

#include <pdhost/plugin.h>

typedef struct child_result {
  int exit_code; /* of `body`; -1: it did not return */
  int signal;    /* that ended it, or 0 */
  bool timed_out;
  bool interrupted;      /* a signal came (signals.h), and it was killed */
  uint64_t stdout_bytes; /* what it wrote to standard output, thrown away */
  char text[4096];       /* what it wrote to `report`, cut */
} child_result;

/* `body` returns the child's exit code. Standard output is caught, standard error is left. A child that a signal or the
 * time cuts short is killed. False: no child could be made. */
bool child_call(int (*body)(void *user, int report), void *user, int timeout_s, child_result *result);

/* "it crashed (signal 11, Segmentation fault)"; "" when it ended by itself. */
const char *child_ending(const child_result *result, char *text, size_t room);

/* Whether a process has ended, though how may not have been asked. */
bool child_is_gone(uint32_t pid);

#endif
