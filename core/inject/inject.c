/*
 * libpdhost_record.so: the part of `pdhost record` that is loaded into the program. The CUDA driver loads it when CUDA
 * is initialised, as CUDA_INJECTION64_PATH says, and calls InitializeInjection. It never unloads.
 */
#include "inject_collect.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The end of the program may wait so long for what it did last. */
#define PATIENCE_NS 200000000
/* The program's own profiler waits so long for CUPTI. */
#define YIELD_NS INT64_C(2000000000)

static inject_board board;
static _Atomic bool begun, forked;

/* A child has CUPTI's state but none of its threads, nor ours. */
static void after_fork(void) {
  atomic_store(&forked, true);
  inject_collect_forget();
}

static void at_exit(void) {
  if (!atomic_load(&forked)) inject_collect_leave(PATIENCE_NS);
}

void pdhost_record_yield(void);

/* For the hook of `pdhost record --yield`: the program's own profiler is about to start. */
__attribute__((visibility("default"))) void pdhost_record_yield(void) {
  if (!atomic_load(&forked)) inject_collect_yield(YIELD_NS);
}

int InitializeInjection(void);

/* Returns 1, which the driver takes for success: the program is to run whatever becomes of its recording. */
__attribute__((visibility("default"))) int InitializeInjection(void) {
  if (atomic_exchange(&begun, true) || atomic_load(&forked) || !inject_board_open(&board)) return 1;
  (void)pthread_atfork(NULL, NULL, after_fork);
  inject_collect_start(&board);
  (void)atexit(at_exit); /* after CUPTI's own, so that it runs before them */
  return 1;
}
