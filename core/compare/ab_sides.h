/* The two sides of `pdhost ab`: each a configuration of its own, brought up to be timed. [loop thread] */
#ifndef CORE_COMPARE_AB_SIDES_H
#define CORE_COMPARE_AB_SIDES_H

#include "ab_rounds.h"
#include "config/assignments.h"

#include "measure/bench.h"
#include "config/cli_args.h"

typedef struct ab_sides {
  const char *texts[2]; /* as typed; borrowed */
  bench_kind kind;      /* what is timed */
  config *settings[2];
  bench *steps[2];
  guard *watches[2];    /* from the first bring-up on; B's is NULL where A's is of the same device */
  int code;             /* of the last bring-up */
  pd_measurements rows; /* of A and B, after ab_sides_measured */
} ab_sides;

/* Refuses a key that both are given and that can do nothing here. A mistake is in `err`. */
bool ab_sides_check(bench_kind kind, const cli_args *args, error *err);
/* Checks and loads both configurations: what is in `args`, then a side's own keys. A mistake is in `err`. */
bool ab_sides_load(ab_sides *self, bench_kind kind, const cli_args *args, const char *const texts[2], error *err);
/* Brings both up and warms them up, and watches the machine from then on. The exit code; messages are printed. */
int ab_sides_open(ab_sides *self);
/* Brings both up once more, B first in every other restart. */
int ab_sides_renew(ab_sides *self, uint64_t index);
/* How they are measured in turns: as both are configured, for `width` and `max_time_s`. */
ab_rules ab_sides_rules(const ab_sides *self, double width, double max_time_s);
/* A timer_block; `user` points at one of `steps`. */
pd_status ab_sides_block(void *user, uint64_t number, double *host_s, double *device_s);
/* Looks at the machine; call it between blocks. */
void ab_sides_look(ab_sides *self);
/* Each side's blocks as a measurement of its own, to be compared or written, with what the machine did meanwhile and
 * the warnings of that. Ends the watch: once. The only failure is PD_NO_MEMORY. */
pd_status ab_sides_measured(ab_sides *self, const ab_result *of, bool partial);
/* Why a block failed; "" where none did. */
const char *ab_sides_failure(const ab_sides *self);
/* "A (train.fused=true)" */
const char *ab_sides_name(const ab_sides *self, int side, char *text, size_t room);
void ab_sides_close(ab_sides *self);

#endif
