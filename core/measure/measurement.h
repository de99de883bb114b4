/*
 * A measurement: what was timed, where, and the time of every block, so that it can be compared later on another
 * machine. Times are in seconds and of whole blocks: a block is `number_per_run` runs of the step between two looks at
 * the clock. Texts and arrays are the measurement's own. One thread at a time.
 */
#ifndef CORE_MEASURE_MEASUREMENT_H
#define CORE_MEASURE_MEASUREMENT_H

#include "instructions.h"

typedef struct pd_pair {
  char *key, *value;
} pd_pair;

/* Keys are unique and keep the order in which they came. */
typedef struct pd_pairs {
  pd_pair *rows;
  uint64_t count, room;
} pd_pairs;

/* How the warm-up before the blocks ended; see steady.h. */
typedef enum pd_settled {
  PD_SETTLED_OFF = 0, /* it was not looked at */
  PD_SETTLED,         /* the times no longer trended */
  PD_TREND,           /* they still did when its time was up */
  PD_SETTLED_UNKNOWN  /* a run takes too long for enough blocks in its time */
} pd_settled;

typedef struct pd_warm_up {
  pd_settled decided;
  uint64_t blocks, runs, number_per_run;
  double spent_s;
  double change; /* over the last window, as a share of its median; 0 where there was none */
  double z;      /* Mann-Kendall's, of that window */
} pd_warm_up;

/* How one side of `pdhost ab` goes with the other: its blocks are two a round, and the other side has the other two of
 * each. */
typedef struct pd_pairing {
  char *id;                 /* the same on both sides, and on no others; NULL: these blocks have no partners */
  int side;                 /* 0: A, 1: B */
  uint64_t *restart_rounds; /* rounds of each restart; twice their sum is block_count */
  uint64_t restart_count;
} pd_pairing;

typedef struct pd_measurement {
  /* What it is called. A table groups by label, has a row per sub_label, env and threads and a column per description.
   */
  char *label, *sub_label, *description, *env; /* NULL: not given */
  char *scenario;                              /* plugin's name */
  char *device;                                /* what computed: "NVIDIA H200", "CPU (oneDNN 2.6.3)" */
  char *method;                                /* "timeit", "blocked_autorange", "adaptive_autorange" */
  uint64_t threads;
  uint64_t number_per_run; /* runs in a block; at least 1 */
  bool cold_cache;         /* the caches were emptied before every block */
  bool partial;            /* ended before its rule was met: by a signal, or a step that failed */
  int64_t start_realtime_ns;
  double timer_overhead_s; /* host time of an empty block, its two synchronisations included */
  pd_warm_up warm_up;
  pd_pairing pairing;
  pd_instructions instructions;

  double *host_s;   /* block_count */
  double *device_s; /* the same blocks between two device events; NULL: not measured */
  uint64_t block_count, block_room;

  pd_pairs options;    /* "data.batch_size" "64": the effective configuration */
  pd_pairs versions;   /* "pdhost" "1.0.0", "libraries" "driver 580.159.04, CUDA 13.0" */
  pd_pairs conditions; /* "load_average_before" "0.12": what may have disturbed the measurement */
  char **warnings;
  uint64_t warning_count, warning_room;
} pd_measurement;

/* An empty measurement is all zeros with number_per_run and threads set. Frees everything and zeroes it. */
void measurement_clear(pd_measurement *self);

/* What [device] threads = `value` stands for: 0 is one for each processor that may be used. */
uint64_t measurement_threads(const char *value);

/* Replaces a text by a copy; NULL clears it. PD_NO_MEMORY leaves it as it was. */
pd_status measurement_set(char **field, const char *text);
/* Adds or replaces. PD_NO_MEMORY leaves the pairs as they were. */
pd_status pairs_set(pd_pairs *pairs, const char *key, const char *value);
/* NULL: there is none. */
const char *pairs_get(const pd_pairs *pairs, const char *key);
/* No block took longer, in seconds: sums of times stay finite. */
#define MEASUREMENT_LONGEST_S 1e12
/* `device_s` NaN: not measured; then no block of this measurement has a device time. PD_INVALID: a time is negative,
 * not finite or longer than the longest. */
pd_status measurement_add_block(pd_measurement *self, double host_s, double device_s);
/* Copies the restarts. PD_NO_MEMORY leaves it without a pairing. */
pd_status measurement_pair(pd_measurement *self, const char *id, int side, const uint64_t *restart_rounds,
                           uint64_t restart_count);
pd_status measurement_warn(pd_measurement *self, const char *text);

/* The host's (device = false) or the device's time of one run in each block, in seconds, in the order they were taken.
 * `runs` has room for block_count. PD_UNSUPPORTED: there are no device times. */
pd_status measurement_run_times(const pd_measurement *self, bool device, double *runs);

/* "label: sub_label", as torch.utils.benchmark titles a measurement; the scenario's name without a label. */
const char *measurement_title(const pd_measurement *self, char *text, size_t room);

typedef struct pd_measurements {
  pd_measurement *rows;
  uint64_t count, room;
} pd_measurements;

/* Takes over what is in `row` and zeroes it. PD_NO_MEMORY leaves both as they were. */
pd_status measurements_add(pd_measurements *self, pd_measurement *row);
void measurements_clear(pd_measurements *self);

#endif
