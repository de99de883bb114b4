/*
 * The processes in which the sinks of a run are, one after the other: one that dies in a sink, or hangs there, is
 * followed by one without that sink, which begins at the capture's begin. [the supervisor]
 */
#ifndef CORE_RUN_WRITING_WRITERS_H
#define CORE_RUN_WRITING_WRITERS_H

#include "run/board.h"

#include "config/config.h"

#include <signal.h>
#include <sys/types.h>

/* What ps and top call such a process. */
#define WRITER_NAME "pdhost writer"

/* What a writer leaves to the next one. */
typedef struct writers_kept {
  _Atomic uint64_t printed; /* bytes to standard output */
  unsigned char left_out[]; /* by sink; a writer notes those that fail */
} writers_kept;

typedef struct writers {
  config *settings;
  pid_t pid;                   /* 0: there is none */
  int status;                  /* of waitpid */
  bool hung;                   /* it was ended for a call that took too long */
  bool was_stopped;            /* it was ended since somebody stopped it and did not let it go on */
  int64_t look_ns, stopped_ns; /* the last look; how long it has been stopped */
  struct writers_kept *kept;   /* shared with the writer, and not with the worker */
  uint32_t *died;              /* writers that did not come to their end */
  uint32_t died_count, kills;
  char killed_in[64]; /* the sink; "": in none, or the last one was not killed */
} writers;

/* Forks the first. False: there is none, and the sinks are the worker's. Where files may not hold a window, a warning
 * says so. */
bool writers_begin(writers *self, config *settings);
/* The worker had the sinks, and died: forks one that writes the outputs from the capture, without `sink`, in which it
 * died, "" for none. False: there is none. */
bool writers_begin_late(writers *self, const char *sink);
/* The worker has overwritten what it shares with the writer: that one ends, and writers_begin_late is due. */
void writers_drop(writers *self);
/* Looks after the one that there is; false: there is none any more. Limits of time count from `since_ns` on, to
 * `now_ns`. */
bool writers_look(writers *self, int64_t since_ns, int64_t now_ns);
/* Ends the one that there is, at once. */
void writers_kill(writers *self);
void writers_end(writers *self);

/* How a process ended, in words, which `status` of waitpid says. `of`: its own on the board, for where it crashed. */
void writers_say_end(const config *settings, const board_calls *of, int status, bool hung, char *text, size_t room);
/* Whether another program or a lack of memory killed it: no plugin kills its own process. */
bool writers_was_killed(int status, bool hung);

#endif
