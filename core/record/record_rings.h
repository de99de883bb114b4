/* The rings of all processes, each on its way into a capture of its own. [loop thread] */
#ifndef CORE_RECORD_RECORD_RINGS_H
#define CORE_RECORD_RECORD_RINGS_H

#include "host/record_host.h"
#include "record_last.h"
#include "record_live.h"
#include "record_session.h"
#include "record_steps.h"

#include "capture/capture_write.h"
#include "capture/ring_read.h"

typedef struct record_rings record_rings;
typedef struct record_ring record_ring;

/* A ring on its way into its capture. */
typedef struct record_taking {
  record_rings *rings;
  record_ring *ring;
} record_taking;

struct record_ring {
  ring_reader reader;
  capture_writer writer;
  char *path;       /* of the capture; NULL: none was made, since nothing was launched */
  record_last last; /* in place of a capture, where only the last seconds are kept */
  uint32_t pid;
  int64_t realtime_ns; /* when the ring was made */
  uint32_t slot;
  record_steps steps;
  record_live_process live;
  bool open, closed;
  bool outlives;     /* the process lived on when the recording ended */
  uint64_t works;    /* launches, copies and sets, and their device records */
  uint32_t *threads; /* that have made calls */
  uint32_t thread_count, thread_room;
  record_host *host;             /* what its host does; NULL: it has launched nothing yet, or it is not looked at */
  capture_program_end end;       /* closed: how it ended */
  capture_program_end before[2]; /* losses and torn places one and two spans of last_ns ago, or less */
  int64_t before_ns;
  record_taking to; /* for `host` */
};

struct record_rings {
  record_session *session;
  const char *folder; /* of the captures */
  int64_t last_ns;    /* so much of the recording is kept; 0: all */
  record_host_way host_way;
  bool with_places;  /* of Python threads; the hook of --torch tells them itself */
  record_ring *all;  /* RECORD_SLOTS, by slot */
  uint64_t bytes;    /* written to captures so far */
  record_live *live; /* for pdhost top; NULL: it cannot be looked at. The owner's */
  uint32_t marks;    /* slot + 1 of the process whose steps it shows; 0: none marks any */
  int fault;         /* errno of a capture that could not be written; 0: none */
};

/* `last_ns`, `host_way` and `with_places` may be set after it, before the first drain. `step`: name of the ranges that
 * are steps; NULL: marks are. */
pd_status record_rings_open(record_rings *self, record_session *session, const char *folder, const char *step);
/* Takes what has come. Captures of processes that have ended are complete then. How many processes still record. */
uint32_t record_rings_drain(record_rings *self);
/* Looks at what the processes' hosts do, each millisecond. False: there is none to look at. */
bool record_rings_look(record_rings *self);
/* The command has ended: processes of its own that still record have outlived it. */
void record_rings_outlive(record_rings *self);
/* Ends every capture that is not complete. */
void record_rings_end(record_rings *self);
/* Where only the last seconds are kept: makes captures of them in `folder`, which stays the caller's. The recording
 * goes on, and what cannot be written is told, and kept. False: something could not. */
bool record_rings_write_last(record_rings *self, const char *folder);
/* Forgets the captures, whose files are the caller's to remove: later ones may be made. */
void record_rings_forget(record_rings *self);
/* Whether any process has recorded work for a GPU. */
bool record_rings_begun(const record_rings *self);
/* How many steps each process that marks any has completed; 0: none marks any. */
uint64_t record_rings_steps(const record_rings *self);
void record_rings_close(record_rings *self);

#endif
