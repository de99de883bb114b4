/*
 * What a run is doing at this moment, where its supervisor can see it: one page per run, in memory that its processes
 * share. A process that dies leaves it as it was, so the supervisor can say which plugin was called, and for what; and
 * the steps that no file has yet are still there.
 *
 * The worker writes, the loop thread alone, and the writer its own calls; the supervisor reads. Without a supervisor it
 * is ordinary memory.
 */
#ifndef CORE_RUN_BOARD_H
#define CORE_RUN_BOARD_H

#include "trace/kept/room.h"
#include "trace/recorder.h"

#include <pdhost/sink.h>

#include <semaphore.h>
#include <stdatomic.h>

/* Steps that are kept, of the run and of its window; older ones are in the capture, or lost with the run. */
enum { BOARD_STEPS = 65536 };
enum { BOARD_PATH = 4096 };

typedef struct board_call {
  char kind[16];   /* "scenario", "sink", "device" */
  char plugin[64]; /* its name */
  char what[48];   /* "init", "writing a window" */
} board_call;

enum { BOARD_FRAMES = 24 };

/* Where a process crashed; see ending/crash.h. */
typedef struct board_crash {
  atomic_int signal; /* 0: it did not */
  uint32_t count;
  void *frames[BOARD_FRAMES]; /* the place itself, then return addresses outwards */
} board_crash;

/* The calls that are open in one process, the outermost first. */
typedef struct board_calls {
  atomic_uint depth;
  atomic_int_fast64_t start_ns; /* of the last that was opened; CLOCK_MONOTONIC */
  board_call calls[4];
  board_crash crash;
} board_calls;

/* What goes between the worker, which records, and the writer, which has the sinks; see writing/feed.h. */
typedef struct board_feed {
  sem_t more, read;                /* the writer, the worker are to look again */
  atomic_bool is_on;               /* there is a writer */
  atomic_bool ends;                /* nothing follows what is in the capture */
  atomic_bool is_gone;             /* no writer is left, and none will be */
  atomic_bool is_open;             /* its sinks are open */
  atomic_uint_fast64_t fed, eaten; /* how often the worker had something, and up to which time it was read */
  atomic_int code;                 /* the writer's exit code; -1: it has not come to its end */
  atomic_int worker, writer;       /* their processes */
  int memory;                   /* what the disk had no room for goes through this file in memory; -1: there is none */
  atomic_uint part;             /* how often that was begun anew; 0: not once, all is in the capture */
  atomic_uint left_out;         /* sinks that ended a writer */
  atomic_int_fast64_t spent_ns; /* processor time of writers that ended */
  atomic_uint_fast64_t printed; /* bytes that the worker wrote to standard output, where it has the sinks */
  char reason[512];             /* why the run has no end of its own; set before `ends` */
} board_feed;

/* The window that is open, or was last: what its end will say. */
typedef struct board_window {
  recorder_window end; /* its pointers are of no use to another process */
  char note[512];      /* of the profile; "" where there is none */
  atomic_uint_fast64_t step_count;
  recorder_step steps[BOARD_STEPS];
} board_window;

/* What the run does before its steps and after them. */
typedef struct board_phase_row {
  char name[48];    /* "setting up"; "": its steps, which say more themselves */
  int64_t start_ns; /* CLOCK_MONOTONIC */
} board_phase_row;

/* Between its parts; a plugin that writes where it may not leaves no such number there. */
#define BOARD_GUARD UINT64_C(0x70646872756E2121)

typedef struct board {
  _Alignas(64) atomic_uint_fast64_t step; /* under way, plus 1; 0: none is */
  atomic_int_fast64_t step_start_ns;      /* CLOCK_MONOTONIC */
  board_calls worker, writer;             /* in these processes */
  atomic_uint phase;                      /* counts them; the newest is phases[phase % 2] */
  board_phase_row phases[2];
  atomic_uint_fast64_t guard_before;
  board_feed feed;
  atomic_bool done; /* the run came to its end, and `code` is its exit code */
  atomic_int code;
  atomic_bool begun; /* the capture is there, and says which run it is of */
  char capture[BOARD_PATH];
  atomic_uint_fast64_t guard_behind;
  atomic_uint_fast64_t step_count; /* ever written to `steps` */
  pd_step_stats steps[BOARD_STEPS];
  board_window window;
  atomic_uint_fast64_t guard_end;
} board;

/* What the memory of a board is called in /proc/PID/fd, where another process of the user's finds it. One of another
 * size is that of another version. */
#define BOARD_FILE "pdhost-board"

/* The board of this process's run. Never NULL. */
board *board_own(void);
/* Shared with children that are forked from now on. False: no memory. */
bool board_share(void);
/* Ordinary memory again, and no room. */
void board_unshare(void);
/* False: a process that shares it has overwritten what is not its own. */
bool board_is_whole(void);
/* The other processes of the run have ended, and one of them has overwritten the board: it is empty again, but for what
 * board_tell_capture was told. [the supervisor] */
void board_renew(void);

/* Where the capture is, "" for nowhere, and whether it says which run it is of. A plugin cannot overwrite that. */
void board_tell_capture(const char *path, bool begun);

/* Makes a new room for `max_bytes` of records, shared with children that are forked from now on; without memory there
 * is none. */
void board_make_room(uint64_t max_bytes);
/* NULL: the recorder is to have one of its own. */
trace_room *board_room(void);
/* The same when its process has died: where it lies is what it was at first. */
trace_room *board_room_of_dead(void);

/* This process is the writer: its calls are noted apart from the worker's. */
void board_become_writer(void);
/* Around every call of a plugin's that is not a step's. After it the process is in its own place again
 * (writing/own_place.h). */
void board_enter(const char *kind, const char *plugin, const char *what);
void board_leave(void);
/* A phase of the run begins, and the one before it ends. */
void board_phase(const char *name);
void board_add_step(const pd_step_stats *stats);

/* A window begins, and a step of it is over. */
void board_window_begin(const recorder_window *end);
void board_window_step(const recorder_step *step);

/* Around a step. Cheap. */
static inline void board_step(board *self, uint64_t index, int64_t now_ns) {
  atomic_store_explicit(&self->step_start_ns, now_ns, memory_order_relaxed);
  atomic_store_explicit(&self->step, index + 1, memory_order_release);
}
static inline void board_step_done(board *self) { atomic_store_explicit(&self->step, 0, memory_order_release); }

/* The call that is open goes on with the next of its steps, for which its time begins anew. */
void board_next(void);
/* How long the plugin's call that is under way in a process had taken at `now_ns`, counted from `since_ns` on; 0: none
 * is, or one of a communicator, which has a limit of its own. */
int64_t board_call_ns(const board_calls *of, int64_t since_ns, int64_t now_ns);
/* What was under way, as in "scenario control: step 12"; "the run itself" where no plugin was called. `sink`: the name
 * of the sink that was called, "" where none was. */
void board_say(const board *self, const char *scenario, char *text, size_t room, char sink[64]);
/* The same of a process that trains nothing. */
void board_say_call(const board_calls *of, char *text, size_t room, char sink[64]);

#endif
