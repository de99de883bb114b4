/*
 * The causes that a verdict may name: their keys and words. Which of them is named is decided in gains.c: the one whose
 * removal brings most; what removing one does to the steps is in gains_judge.c. Nothing is known here of what a
 * scenario injects.
 *
 * A verdict is withheld where launches or device records are missing, where there are too few steps, and where the
 * replay with nothing removed does not give the steps as they were recorded.
 */
#ifndef CORE_LEDGER_VERDICT_H
#define CORE_LEDGER_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

/* With less than these no verdict is given. */
#define VERDICT_MIN_COVERAGE 0.999
#define VERDICT_MIN_STEPS 5

/* X(key as scenarios spell their bottleneck, what a reader sees, what takes it out of any program) */
#define VERDICT_MAP(X)                                                                                                 \
  X(input_bound, "input-bound: the device waits for data",                                                             \
    "Give the loader more workers and let it read ahead (num_workers, prefetch_factor), and take work on samples off " \
    "the loop's thread.")                                                                                              \
  X(forced_sync, "forced synchronisation: a blocking call drains the device",                                          \
    "Take calls that wait for the device out of the step: item(), cpu(), printing a tensor, synchronize(). Read the "  \
    "loss every few steps.")                                                                                           \
  X(launch_bound, "launch-bound: small launches cost more than their work",                                            \
    "Make fewer and larger launches: a CUDA graph, a compiled model, fused optimisers, or a larger batch.")            \
  X(small_batch, "small batch: the samples go through the model in many small passes",                                 \
    "Send more samples through the model in one pass.")                                                                \
  X(allocator, "allocator: temporaries are made, filled and freed in each step",                                       \
    "Allocate buffers once and use them again, or work in place.")                                                     \
  X(pageable_copy, "pageable copies: the device waits for pageable memory",                                            \
    "Copy from pinned memory without blocking: pin_memory in the loader, non_blocking=True at the copy.")              \
  X(pinned_copy, "transfer-bound: copies of pinned memory run alone",                                                  \
    "Copy the next batch on a stream of its own while the model computes, or copy fewer bytes.")                       \
  X(host_compute, "host compute: the host works between launches",                                                     \
    "Move the host's work out of the step, to the loader's workers or the device, or do it less often.")               \
  X(serial_streams, "serialised streams: work that could overlap waits for an event",                                  \
    "Take the wait for the event away where the work does not need it, or record the event earlier.")                  \
  X(device_side, "device-side dependency: work is queued and waits",                                                   \
    "Find what the queued work waits for. In the timeline: an event, another stream, or a collective of another "      \
    "rank. "                                                                                                           \
    "Beside it: another program on the same GPU, as nvidia-smi shows.")                                                \
  X(profiler, "profiler overhead: the profiling library stops the host",                                               \
    "Record less: no stacks, shapes and memory, or fewer steps.")                                                      \
  X(none, "no bottleneck found",                                                                                       \
    "The device is busy: what is left is less work for it, such as mixed precision, faster kernels or another memory " \
    "layout.")

/* No bottleneck was found, and the device is idle all the same. */
#define VERDICT_IDLE_HELPS                                                                                             \
  "No cause that pdhost knows holds the step, but the device is idle for most of it. Look in the timeline for what "   \
  "the host does meanwhile."

/* Launching holds the step up, and most kernels are launched by graphs already. */
#define VERDICT_GRAPHS_HELPS                                                                                           \
  "Most kernels run in CUDA graphs already: put more of the step into one graph, or let the host prepare the next "    \
  "launch while the device works."

/* The device is busy with collectives that nothing hides. */
#define VERDICT_COMMUNICATION_HELPS                                                                                    \
  "Look at all ranks together: pdhost analyze with the files of each, or \"Ranks\" in the report of a run."

enum {
#define X(key, text, helps) VERDICT_##key,
  VERDICT_MAP(X)
#undef X
      VERDICT_COUNT
};

/* As scenarios spell it, and what a reader sees. */
const char *verdict_key(uint32_t cause);
const char *verdict_text(uint32_t cause);
/* What takes the cause out of any program, in a sentence or two. */
const char *verdict_helps(uint32_t cause);
/* The same for an inference server, where that is something else; NULL: it is not. */
const char *verdict_server_helps(uint32_t cause);

#endif
