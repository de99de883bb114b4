/* A scenario brought up to be timed: no recorder, no profiler, no loss read back. Either its step alone, without loader
 * threads, where one batch is made beforehand and every run is given it; or whole iterations of its training loop, with
 * the loader. Several can be open at once. [loop thread] */
#ifndef CORE_MEASURE_BENCH_H
#define CORE_MEASURE_BENCH_H

#include "config/config.h"

#include "steady.h"
#include "data/loader.h"
#include "run/guard.h"
#include "run/delays/delays.h"

typedef struct bench bench;

typedef enum bench_kind { BENCH_STEP, BENCH_LOOP } bench_kind;

/* `settings` have [run] mode = benchmark, and stay until bench_close; for BENCH_STEP their [data] is changed to load in
 * the caller's own thread. Returns the exit code, with its message printed; *out is NULL unless it is CODE_DONE. */
int bench_open(config *settings, bench_kind kind, bench **out);
/* BENCH_LOOP with parts of its steps made slower by `slow`, which outlives it. */
int bench_open_delayed(config *settings, delays *slow, bench **out);
void bench_close(bench *self);

/* What [benchmark] asks for. */
timer_rules bench_rules(const config *settings);
steady_rules bench_steady_rules(const config *settings);

/* Runs [run] warmup_steps, untimed. */
pd_status bench_warm_up(bench *self);

/* A timer_block; `user` is the bench. The device is synchronised before and after. PD_STOP: a signal, or the scenario,
 * asks for the end. Where the cache is to be cold, a block empties it first, outside its time. A block of BENCH_LOOP
 * begins with as many untimed steps as the loader needs to reach its usual pace, and has no device time. */
pd_status bench_block(void *user, uint64_t number, double *host_s, double *device_s);
/* A timer_clock, of that bench or none. */
double bench_clock(void *user);
/* Why the last block or warm-up failed, or the scenario asked for the end; "" where neither is so. */
const char *bench_failure(const bench *self);

/* For callgrind.h: the loop of a block around `number` steps, or around a step that does nothing, and the wait for the
 * device at its end, in one call of the function of this name. Its failures are those of bench_block. */
#define BENCH_COUNTED_FUNCTION "pdhost_counted_steps"
pd_status bench_counted(bench *self, uint64_t number, bool empty);

/* Looks at the machine from begin to end, at the blocks in between. */
void bench_watch_begin(bench *self);
void bench_watch_end(bench *self, guard_facts *facts);

/* Whether a GPU computes, and which: for a guard that outlives the bench. */
bool bench_gpu(const bench *self, uint32_t *index);

/* The bench's loader, to delay it. */
data_loader *bench_loader(const bench *self);

/* Fills names, threads, options, versions and the conditions that do not change; not the blocks. */
pd_status bench_describe(const bench *self, pd_measurement *out);

#endif
