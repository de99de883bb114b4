/* Whether a signal that pdhost got was sent to its whole process group, and so has reached the program, too. A process
 * that does nothing else waits for signals in the same group: what was sent to pdhost alone does not reach it. [main
 * thread; there is no other] */
#ifndef CORE_RECORD_RECORD_WITNESS_H
#define CORE_RECORD_RECORD_WITNESS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { RECORD_WITNESSED = 16 };

typedef struct record_seen {
  int number;
  pid_t sender;
  int64_t ns; /* CLOCK_MONOTONIC */
} record_seen;

typedef struct record_witness {
  pid_t pid;                          /* 0: there is none, and no signal was the group's */
  int answer;                         /* the pipe through which it says what it got */
  record_seen seen[RECORD_WITNESSED]; /* the newest, in turn */
  uint32_t next;
  uint32_t unanswered; /* questions whether it has told all */
} record_witness;

/* `wanted` are the signals that it tells of; they are blocked in this process. */
void record_witness_start(record_witness *self, const sigset_t *wanted);
/* Waits until the process has told all that it got, and a moment more: it may get the signal after this one. */
bool record_witness_saw(record_witness *self, const siginfo_t *about);
void record_witness_end(record_witness *self);

#endif
