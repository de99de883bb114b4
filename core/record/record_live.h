/*
 * What `pdhost record` sees at this moment, where `pdhost top` finds it: sums of the last seconds, by tenths of a
 * second, in memory that both map. Rows are added as they come out of the programs, some tenths of a second after they
 * happened. [the recorder's thread writes; another process reads]
 */
#ifndef CORE_RECORD_RECORD_LIVE_H
#define CORE_RECORD_RECORD_LIVE_H

#include <pdhost/record.h>

#include <stdatomic.h>
#include <stdbool.h>

/* What the memory is called in /proc/PID/fd. One of another size is that of another version. */
#define RECORD_LIVE_FILE "pdhost-record"
#define RECORD_LIVE_BUCKET_NS INT64_C(100000000)
enum { RECORD_LIVE_BUCKETS = 64, RECORD_LIVE_STEPS = 16384, RECORD_LIVE_DEVICES = 16 };

/* Device time is counted once, however many streams work: it is the first's that began. */
typedef enum record_live_part {
  RECORD_LIVE_KERNELS = 0,
  RECORD_LIVE_COPIES,
  RECORD_LIVE_SETS,
  RECORD_LIVE_LAUNCHING, /* calls, of all threads together */
  RECORD_LIVE_WAITING,
  RECORD_LIVE_ALLOCATING,
  RECORD_LIVE_PARTS
} record_live_part;

typedef struct record_live_bucket {
  _Atomic int64_t number; /* CLOCK_REALTIME in buckets; another one: nothing is known of it */
  _Atomic uint64_t launches;
  _Atomic uint64_t devices; /* a bit for each GPU of each process that worked or was given work */
  _Atomic int64_t ns[RECORD_LIVE_PARTS];
} record_live_bucket;

typedef struct record_live {
  _Atomic int64_t since_ns; /* CLOCK_REALTIME: the first row; 0: there was none */
  _Atomic uint64_t launches, lost;
  _Atomic uint32_t processes; /* that record now */
  _Atomic uint32_t state;     /* record_order */
  _Atomic uint64_t step_count;
  _Atomic int64_t step_ends_ns[RECORD_LIVE_STEPS]; /* of the process that marks steps first, by number */
  record_live_bucket buckets[RECORD_LIVE_BUCKETS];
} record_live;

/* What is known of one process: until when each of its GPUs has worked, and its last call. A call of the driver may lie
 * inside one of the runtime, and has its number. Zeroed at first. */
typedef struct record_live_process {
  int64_t until_ns[RECORD_LIVE_DEVICES];
  uint64_t correlation;
  int64_t call_start_ns, call_end_ns;
} record_live_process;

/* NULL: there is no memory for it, and it cannot be looked at. */
record_live *record_live_open(void);
void record_live_close(record_live *self);
/* Rows of process `slot`. `self` may be NULL, here and below. */
void record_live_add(record_live *self, uint32_t slot, record_live_process *process, const pd_activity *rows,
                     uint32_t count);
/* A step ended then. */
void record_live_step(record_live *self, int64_t end_ns);

/* The second of `last`: ended half a second ago, since what happened later is not all there. */
typedef struct record_live_second {
  uint64_t launches, devices, steps;
  double share[RECORD_LIVE_PARTS]; /* of the second: of all GPUs that worked, on average; calls: of one thread */
  double busy;                     /* of the GPUs */
  double step_ns;                  /* mean of the steps that ended then, or else the last one; 0: none is known */
} record_live_second;
/* The second that ended then. */
record_live_second record_live_before(const record_live *self, int64_t end_realtime_ns);
record_live_second record_live_last(const record_live *self, int64_t now_realtime_ns);

#endif
