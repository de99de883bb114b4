/*
 * What `pdhost record` and the processes that it records tell each other: one mapped file in a folder of their own,
 * which the environment names. A process takes a slot when it has launched something or cannot be recorded, writes only
 * its own, and keeps it. The supervisor writes `order`. Beside it lie the rings, "7.ring" for slot 7.
 */
#ifndef CORE_CAPTURE_RECORD_BOARD_H
#define CORE_CAPTURE_RECORD_BOARD_H

#include <pdhost/device.h>

#include <stdatomic.h>
#include <stdint.h>

#define RECORD_ENVIRONMENT "PDHOST_RECORD" /* holds the folder */
#define RECORD_BOARD_FILE "board"
#define RECORD_LIBRARY "libpdhost_record.so"
#define RECORD_TORCH_FOLDER "torch" /* beside it: the hook of --torch and --yield, for Python */
#define RECORD_HOOK_ENVIRONMENT                                                                                        \
  "PDHOST_RECORD_HOOK"                 /* what that hook does: of "marks", "code", "modules", "yield", with commas */
#define RECORD_TORCH_FILE "mark_steps" /* in the session's folder: the hook marks steps */
/* What the hook marks of modules: a range of this domain is a forward, a moment is where a backward begins. */
#define RECORD_MODULE_DOMAIN "pdhost module"
#define RECORD_MODULE_FORWARD "forward of "
#define RECORD_MODULE_BACKWARD "backward of "

enum { RECORD_MARK = 0x44524f42 /* "BORD" */, RECORD_VERSION = 6, RECORD_SLOTS = 512 };

typedef enum record_order { RECORD_WAIT = 0, RECORD_GO = 1, RECORD_STOP = 2, RECORD_PAUSE = 3 } record_order;

/* How far a process is. */
typedef enum record_state {
  RECORD_FREE = 0,
  RECORD_RUNS,    /* there is a ring */
  RECORD_DONE,    /* it has written all that it will */
  RECORD_REFUSED, /* `why` says what prevented it */
} record_state;

/* Why a process is not recorded, as far as the advice depends on it. */
typedef enum record_cause {
  RECORD_CAUSE_OTHER = 0,
  RECORD_CAUSE_NO_CUPTI,
  RECORD_CAUSE_OWN_CUPTI,  /* the one that the program has loaded will not do */
  RECORD_CAUSE_SUBSCRIBER, /* another profiler holds CUPTI */
  RECORD_CAUSE_NO_ROOM,    /* for a ring */
  RECORD_CAUSE_YIELDED     /* --yield: the program's own profiler was given CUPTI; also of one that is done */
} record_cause;

typedef struct record_slot {
  _Atomic uint32_t state;         /* record_state; set last */
  uint32_t cause;                 /* record_cause */
  uint32_t pid;                   /* as the process knows itself */
  uint32_t cupti_version;         /* 0: not known */
  int32_t rank, ranks;            /* of a distributed program; ranks 0: not one */
  _Atomic int64_t whole_until_ns; /* CLOCK_REALTIME: all until then is in the ring; INT64_MAX: all that there was */
  char command[256];              /* its command line, words separated by spaces, cut */
  char library[256];              /* the file of the CUPTI that it uses */
  char why[512];                  /* one clause */
} record_slot;

typedef struct record_board {
  uint32_t mark, version;
  _Atomic uint32_t order;   /* record_order */
  _Atomic uint32_t taken;   /* slots, may be beyond RECORD_SLOTS */
  _Atomic uint32_t begun;   /* processes that initialised CUDA */
  _Atomic uint32_t refused; /* those of them that cannot be recorded, with a slot or without */
  uint32_t ring_blocks;     /* of each process */
  uint32_t locked;          /* 1: the supervisor holds the lock of flock() on the file for as long as it lives */
  char cupti[256];          /* the file of the CUPTI to use; "": the process's own */
  record_slot slots[RECORD_SLOTS];
} record_board;

/* The row of CAPTURE_GPUS: `props` without its texts. */
typedef struct record_gpu {
  pd_device_props props;
  char name[96];
} record_gpu;

#endif
