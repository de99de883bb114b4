/* One side of a difference: what each step of a trace or capture took, by what it was spent on. [loop thread] */
#ifndef CORE_COMPARE_DIFF_SIDE_H
#define CORE_COMPARE_DIFF_SIDE_H

#include "base/arena.h"
#include "facts/groups.h"
#include "ledger/verdict.h"
#include "run/import/import.h"

#include <pdhost/trace.h>

typedef enum diff_kind {
  DIFF_LEDGER,   /* owners of the device's time: they add up to the step */
  DIFF_KERNEL,   /* by grid and block; copies and sets, too */
  DIFF_OPERATOR, /* by input shapes: device time launched in it, of a trace without device records its own host time */
  DIFF_KIND_COUNT
} diff_kind;

/* A name and a shape, which may be "". Equal ones have equal texts. */
typedef struct diff_key {
  diff_kind kind;
  const char *name, *shape;
  double ns;      /* over all steps */
  uint64_t count; /* of events */
} diff_key;

/* What one step spent on one key. */
typedef struct diff_cell {
  uint32_t key, step;
  int64_t ns;
} diff_cell;

/* What the steps would save without a cause, over the windows whose gains can be trusted. */
typedef struct diff_gain {
  double ns, low, high; /* a step */
} diff_gain;

typedef struct diff_side {
  const char *path;
  arena texts;
  double *step_ns; /* in the order of the steps; without a loop, of each window's whole recording */
  diff_key *keys;
  diff_cell *cells;
  uint32_t step_count, step_room, key_count, key_room, cell_count, cell_room;
  key_groups key_of, cell_of; /* by hashes of the texts; by key and step */
  diff_gain gains[VERDICT_COUNT];
  uint64_t gain_steps;  /* that `gains` rest on; 0: `withheld` says why */
  const char *withheld; /* of the last window whose gains are not to be trusted; NULL: none */
  const char *device;   /* its name; "": the file has none */
  uint32_t cause;       /* of the last window with a verdict; VERDICT_COUNT: none has one */
  uint64_t records;     /* of the device, whether or not a step launched them */
  uint64_t calls;       /* of the runtime and the driver */
  uint32_t left_out;    /* windows without a loop, where others have one */
  bool has_loop;        /* the steps are the program's; without, no window has any */
  bool has_device;      /* any device record that a step launched */
  bool marked;          /* steps are marks of the program's own */
  bool cut;             /* a part of the file could not be read: what changed is not known */
} diff_side;

/* Reads the file. Prints its errors; the exit code. Close it in any case. */
int diff_side_read(config *settings, const import_request *request, const char *path, diff_side *out);
void diff_side_close(diff_side *self);

#endif
