/* The program that is recorded: started as a shell would start it, in the same terminal and environment, and waited
 * for. [main thread; there is no other] */
#ifndef CORE_RECORD_RECORD_PROGRAM_H
#define CORE_RECORD_RECORD_PROGRAM_H

#include "record_witness.h"

#include "base/error.h"

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct record_program {
  char *const *command;
  const char *library, *folder; /* NULL: it runs without a recorder */
  bool marks_torch, yields;     /* what the hook of Python programs does */
  bool marks_modules;           /* with marks_torch: and each module's forward and backward */
  bool samples_code;            /* with marks_torch: and where the program's code is */
  bool takes_signal;            /* SIGUSR2 is for pdhost; else it goes to the program, too */
  bool takes_asking; /* SIGUSR2 that `pdhost snapshot` sends is for pdhost, and so is another that it does not take yet
                      */
  pid_t pid;
  sigset_t taken, before;
  void (*child_ends)(int); /* what SIGCHLD did before */
  record_witness witness;  /* which signals the program got by itself */
  uint32_t signals;        /* how often SIGUSR2 came, which is pdhost's own */
  uint32_t askings;        /* how often a snapshot was asked for */
  bool is_paused;          /* the recording is to be paused: see base/signals.h */
  int status;              /* of waitpid */
  bool over;
  int64_t over_ns; /* when that was seen, by CLOCK_MONOTONIC */
} record_program;

/* What a shell returns for a command that is not there, and for one that cannot be executed. */
enum { RECORD_NOT_FOUND = 127, RECORD_NOT_EXECUTABLE = 126 };

/* With SIGUSR2: the value by which it is known who sent it. */
enum { RECORD_ASKING = 0x50445348 };

/* Zeroed but for its first seven fields. */
pd_status record_program_start(record_program *self, error *err);
/* Waits for at most so long, and hands on the signals that come, but for those that reach the program by themselves:
 * from the terminal, or to the whole process group. True: the program has ended. */
bool record_program_wait(record_program *self, int milliseconds);
/* Once it has ended: waits for at most so long for a signal that asks pdhost itself to end. Its number; 0: none came.
 * What comes within half a second of the program's end was meant for the program. */
int record_program_asked(record_program *self, int milliseconds);
/* As a shell tells it: 128 + number for a signal. */
int record_program_code(const record_program *self);
/* Ends the witness and puts SIGCHLD back. The other signals stay blocked: this process only tidies up and exits, and
 * none of them is to end it first. */
void record_program_end(record_program *self);

#endif
