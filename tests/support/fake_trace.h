/*
 * A pd_trace made by hand, for suites of sinks and analysis: add rows in any order, then fake_trace_finish() sorts,
 * nests and ties them by the rules of trace.h. Nothing of core/trace is used, so that both can be checked against it.
 *
 * A row returned by an adding function may be changed until the next row of its kind is added. On no memory the adding
 * functions return a row that is thrown away, and fake_trace_finish() returns NULL.
 */
#ifndef TESTS_SUPPORT_FAKE_TRACE_H
#define TESTS_SUPPORT_FAKE_TRACE_H

#include <pdhost/sink.h>

typedef struct fake_trace fake_trace;

fake_trace *fake_trace_open(void);
/* The trace goes too. */
void fake_trace_close(fake_trace *fake);

/* Ids; string 0 is "", thread 0 is the loop's (tid 4242, there from the start). */
uint32_t fake_string(fake_trace *fake, const char *text);
uint32_t fake_string_of(fake_trace *fake, const char *text, uint64_t length);
uint32_t fake_thread(fake_trace *fake, uint32_t tid, const char *name);
uint32_t fake_stream(fake_trace *fake, uint32_t device, uint32_t context, uint32_t stream);

/* Steps in order of time; numbers count from the first one's. */
pd_trace_step *fake_step(fake_trace *fake, uint64_t number, int64_t start_ns, int64_t end_ns);
pd_range *fake_range(fake_trace *fake, pd_range_kind kind, const char *name, uint32_t thread, int64_t start_ns,
                     int64_t end_ns);
/* Gives the range last added the shape of one more input. */
void fake_shape(fake_trace *fake, uint32_t dtype, uint32_t rank, const int64_t *dims);
pd_call *fake_call(fake_trace *fake, pd_api_class api, const char *name, uint32_t thread, int64_t start_ns,
                   int64_t end_ns, uint64_t correlation);
pd_device_row *fake_kernel(fake_trace *fake, const char *name, uint32_t stream, int64_t start_ns, int64_t end_ns,
                           uint64_t correlation);
/* What each multiprocessor has of the kernel; it has four schedulers. */
void fake_kernel_fills(pd_device_row *row, float blocks_per_sm, float warps_per_sm);
pd_device_row *fake_copy(fake_trace *fake, pd_memory_kind from, pd_memory_kind to, uint64_t bytes, uint32_t stream,
                         int64_t start_ns, int64_t end_ns, uint64_t correlation);
pd_device_row *fake_set(fake_trace *fake, uint64_t bytes, uint32_t stream, int64_t start_ns, int64_t end_ns,
                        uint64_t correlation);
/* A device-side synchronisation (stream) or an overhead (PD_NONE). */
pd_other_row *fake_other(fake_trace *fake, pd_activity_kind kind, const char *name, uint32_t stream, int64_t start_ns,
                         int64_t end_ns);
pd_memory_row *fake_memory(fake_trace *fake, uint32_t thread, int64_t ts_ns, uint64_t address, int64_t bytes,
                           uint64_t allocated, uint64_t reserved);
void fake_counter(fake_trace *fake, const char *name, int64_t ts_ns, double value);

/* The trace so far; the fake's until fake_trace_close. Call it once. */
pd_trace *fake_trace_finish(fake_trace *fake);

/* `steps` training steps of 10 ms each, numbered from `first`: a wait for data of 2 ms, a copy, a convolution with its
 * backward on one stream, a set, an optimiser, a blocking read, worker ranges on a second thread, memory and counters.
 * Kernels of a step: 4 of 1 ms, 0.5 ms, 1.5 ms, 0.25 ms; copies: 1 of 0.5 ms to the device, 1 of 0.01 ms from it. */
void fake_trace_training(fake_trace *fake, uint64_t first, uint64_t steps);

/* Properties of the device that all fakes name: "Fake H200". */
const pd_device_props *fake_device(void);

/* A run with every text set, and a summary of `steps` steps; both static, `run` with fake settings. */
const pd_run *fake_run(const char *trace_dir);
const pd_summary *fake_summary(void);
/* Step `i` of the run behind fake_summary(): i = 0 and 1 before the window, 2 to 4 active. */
const pd_step_stats *fake_step_stats(uint32_t i);
enum { FAKE_STEP_COUNT = 5 };

#endif
