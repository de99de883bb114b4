/*
 * The ledger: each nanosecond of the active steps has exactly one owner, so that the owners of a step add up to its
 * span. First what the device did, then, where it did nothing, why. Times are taken in this order; what an earlier line
 * owns, no later one gets. "Loop" is the loop's thread, thread 0; "train_step" is the range of that name on it.
 *
 * Busy:
 * - serialised: a kernel runs while another stream's waits for an event: ledger_streams.h.
 * - passes: a kernel does what fewer, larger passes through the model would not need: ledger_passes.h.
 * - compute: a kernel runs that is not among the next two.
 * - temporaries: a kernel runs that was launched outside forward, backward and optimiser while memory lived that the
 *   same step allocates, outside them too, and frees.
 * - tiny_kernels: the same, but only kernels run that are shorter than LEDGER_TINY_*_NS: all of it is their fixed cost.
 * - copy_read: only copies to pageable host memory run that were made in train_step: blocking reads.
 * - copy_late: only copies of batches run that would have been hidden behind the step before, had they been there in
 *   time: the run copies ahead (pd_trace.copies_ahead), and the kit's aten::copy_ runs on a stream of kernels all the
 *   same.
 * - copy_pageable, copy_pinned: only other copies run, one end in pageable (pinned) host memory.
 * - copy_device: only copies within the device, or sets, run.
 * - communication: only collectives run. A collective is none of the kernels above. One rank alone cannot say whether
 *   it transfers or waits for another rank: run/ranks/rank_summary.h divides this owner.
 *
 * Idle:
 * - profiler: an overhead record of the profiling library runs.
 * - allocator: as the next, right before a kernel of `temporaries`.
 * - launch_gap: as the next, in a piece no longer than the device's own cost per launch, LEDGER_GAP_*_NS.
 * - device_side: work was given to the device more than its start-up latency ago and has not begun: it waits for other
 *   work, for an event or for the device itself.
 * - profiler again: the loop is in a call, as long as recording it holds up the step: ledger_profiler.h.
 * - input_io, input_cpu, input_handover: the loop waits for a batch; of the worker that made it: reading, else making
 *   it, else neither (it was ready, or on its way). In a program of somebody else input_cpu is the loop's own work on
 *   it, as a loader without workers has it.
 * - allocator again: the loop is in an allocation or a free.
 * - measurement: the loop is in a synchronisation outside train_step.
 * - forced_sync: the loop is in a synchronisation within train_step, or in a copy to pageable memory.
 * - host_compute: the loop is in train_step and makes no call for at least LEDGER_HOST_COMPUTE_NS.
 * - forced_sync and measurement again: after such a call, until the work of the next launch begins or a copy from
 *   pageable memory is called.
 * - transfer: the loop is in a copy from pageable memory, which the runtime stages, or after it, as above.
 * - launch: the loop is in train_step otherwise, in launches and between them.
 * - measurement again: the loop is between train_steps otherwise.
 * - unknown: the rest, in steps without a train_step.
 *
 * A program of somebody else has no train_step. There the owner of the host's time in the replay (timeline.h) owns what
 * is idle: of blocking calls, those after a step's last launch are `measurement`; of launching and what lies between
 * launches, as much is the profiler's as recording adds to the steps by the gains, in even parts.
 */
#ifndef CORE_LEDGER_LEDGER_H
#define CORE_LEDGER_LEDGER_H

#include "facts/facts.h"
#include "facts/intervals.h"
#include "gains.h"

/* X(key, state, what a reader sees) */
#define LEDGER_MAP(X)                                                                                                  \
  X(serialised, "busy", "Kernels that another stream waits for")                                                       \
  X(passes, "busy", "Cost of more passes than one")                                                                    \
  X(compute, "busy", "Kernels")                                                                                        \
  X(temporaries, "busy", "Kernels on temporaries")                                                                     \
  X(tiny_kernels, "busy", "Tiny kernels")                                                                              \
  X(copy_read, "busy", "Exposed blocking read")                                                                        \
  X(copy_late, "busy", "Exposed copy of a late batch")                                                                 \
  X(copy_pageable, "busy", "Exposed pageable copy")                                                                    \
  X(copy_pinned, "busy", "Exposed pinned copy")                                                                        \
  X(copy_device, "busy", "Exposed device copy or set")                                                                 \
  X(communication, "busy", "Exposed communication")                                                                    \
  X(profiler, "idle", "Profiler overhead")                                                                             \
  X(launch_gap, "idle", "Device's own cost per launch")                                                                \
  X(device_side, "idle", "Device-side dependency")                                                                     \
  X(input_io, "idle", "Input wait: I/O")                                                                               \
  X(input_cpu, "idle", "Input wait: CPU work")                                                                         \
  X(input_handover, "idle", "Input wait: hand-over")                                                                   \
  X(allocator, "idle", "Allocator")                                                                                    \
  X(measurement, "idle", "Synchronisations between steps")                                                             \
  X(host_compute, "idle", "Host compute")                                                                              \
  X(forced_sync, "idle", "Forced synchronisation")                                                                     \
  X(transfer, "idle", "Pageable copy staged by the host")                                                              \
  X(launch, "idle", "Host launching")                                                                                  \
  X(unknown, "idle", "Unknown")

enum {
#define X(key, state, text) LEDGER_##key,
  LEDGER_MAP(X)
#undef X
      LEDGER_OWNER_COUNT
};
enum { LEDGER_FIRST_IDLE = LEDGER_profiler };

/* From the end of a launch to the start of its work on an idle device: up to here it is the launch's own cost. 99.9 %
 * within 3.4 us on an H200 (calibration part of corpus/h200.ini); on a device of threads, one has to be woken. */
#define LEDGER_LATENCY_CUDA_NS 4000
#define LEDGER_LATENCY_OTHER_NS 100000
/* What a kernel takes however little it does, among others of a model: start, first reads, last blocks. On an H200 the
 * kernels of 2, 8 and 32 passes over 64 images take 5 us each more than those of one (calibration part of
 * corpus/h200.ini, ledger_passes.h); the smallest operations of the CPU device take 20 us. */
#define LEDGER_TINY_CUDA_NS 5000
#define LEDGER_TINY_OTHER_NS 20000
/* Between one record and the next of a full queue. 99.9 % within 3.9 us on an H200 (the same); a device of threads
 * takes up to 20 us. */
#define LEDGER_GAP_CUDA_NS 4000
#define LEDGER_GAP_OTHER_NS 50000
/* A training step's host code takes 2 to 20 us between calls; ten times that is computing, not launching. */
#define LEDGER_HOST_COMPUTE_NS 200000

typedef struct ledger {
  int64_t *rows;            /* LEDGER_OWNER_COUNT per step */
  uint64_t blocking_calls;  /* that forced_sync counts: synchronisations and reads within train_step */
  uint64_t blocking_steps;  /* that have one */
  uint64_t allocations;     /* of temporaries */
  uint64_t allocated_bytes; /* by them */
  uint64_t launches;
  uint64_t passes;         /* forward passes per step */
  intervals communication; /* when that is the owner */
} ledger;

/* `of`: this window's gains. false on no memory. */
bool ledger_open(const trace_facts *facts, const gains *of, ledger *out);

/* The same in two parts, since the gains take longer than all else: what kernels own needs none of them. NULL on no
 * memory. ledger_end frees the draft, whatever it returns; it returns false on no memory, and for NULL. */
typedef struct ledger_draft ledger_draft;
ledger_draft *ledger_begin(const trace_facts *facts);
bool ledger_end(ledger_draft *self, const gains *of, ledger *out);
void ledger_drop(ledger_draft *self); /* in place of ledger_end; NULL is nothing */
void ledger_free(ledger *self);

const char *ledger_key(uint32_t cause);

#endif
