/*
 * What a run is doing at this moment, where its supervisor can see it: one page per run, in memory that both share. A
 * process that dies leaves it as it was, so the supervisor can say which plugin was called, and for what; and the steps
 * that no file has yet are still there.
 *
 * The run writes, the loop thread alone; the supervisor reads. Without a supervisor it is ordinary memory.
 */
#ifndef CORE_RUN_BOARD_H
#define CORE_RUN_BOARD_H

#include "trace/kept/room.h"
#include "trace/recorder.h"

#include <pdhost/sink.h>

#include <stdatomic.h>

/* Steps that are kept, of the run and of its window; older ones are in the capture, or lost with the run. */
enum { BOARD_STEPS = 65536 };

typedef struct board_call {
  char kind[16];   /* "scenario", "sink", "device" */
  char plugin[64]; /* its name */
  char what[32];   /* "init", "writing a window" */
} board_call;

/* The window that is open, or was last: what its end will say. */
typedef struct board_window {
  recorder_window end; /* its pointers are of no use to another process */
  char note[512];      /* of the profile; "" where there is none */
  atomic_uint_fast64_t step_count;
  recorder_step steps[BOARD_STEPS];
} board_window;

typedef struct board {
  _Alignas(64) atomic_uint_fast64_t step; /* under way, plus 1; 0: none is */
  atomic_int_fast64_t step_start_ns;      /* CLOCK_MONOTONIC */
  atomic_uint depth;                      /* calls that are open */
  atomic_int_fast64_t call_start_ns;      /* of the last that was opened; CLOCK_MONOTONIC */
  board_call calls[4];                    /* the outermost first */
  atomic_bool done;                       /* the run came to its end, and `code` is its exit code */
  atomic_int code;
  atomic_bool begun; /* the capture is there, and says which run it is of */
  uint32_t died;     /* a process that began this run and died in a sink's opening; 0: none */
  char capture[4096];
  atomic_uint_fast64_t step_count; /* ever written to `steps` */
  pd_step_stats steps[BOARD_STEPS];
  board_window window;
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

/* A fresh room for `max_bytes` of records, shared with children that are forked from now on; where there is no memory
 * for it there is none. */
void board_make_room(uint64_t max_bytes);
/* NULL: the recorder is to have one of its own. */
trace_room *board_room(void);

/* What a sink's opening is called there. */
#define SINK_OPENING "opening"

/* Around every call of a plugin's that is not a step's. */
void board_enter(const char *kind, const char *plugin, const char *what);
void board_leave(void);
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

/* How long the call of a sink that is under way has taken; 0: none is. */
int64_t board_sink_ns(const board *self);
/* What was under way, as in "scenario control: step 12"; "the run itself" where no plugin was called. `sink`: the name
 * of the sink that was called, "" where none was. */
void board_say(const board *self, const char *scenario, char *text, size_t room, char sink[64]);

#endif
