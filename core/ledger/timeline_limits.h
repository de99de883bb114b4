/* What tells a GPU and a device of threads apart in a timeline. Times in ns. [any thread] */
#ifndef CORE_LEDGER_TIMELINE_LIMITS_H
#define CORE_LEDGER_TIMELINE_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct timeline_limits {
  int64_t gap_ns;       /* between records of a full queue, at most */
  int64_t latency_ns;   /* from a launch to the start of its work on an idle device, at most */
  int64_t at_once_ns;   /* from the end of a launch to the start of its work on an idle device, at most; 0: not known */
  int64_t quiet_ns;     /* no call and no operation for so long is computing */
  int64_t fixed_ns;     /* what a launch costs the device itself: a shorter kernel is nothing else */
  int64_t queue_gap_ns; /* between records of a full queue: what the device takes itself, recorded or not */
  int64_t graph_gap_ns; /* between two records of a graph, at most; never more than half of the gap in a queue */
  int64_t beside_gap_ns; /* added to it where several streams are in use */
  int64_t once_ns;       /* what a kernel takes however little it does: once where passes become one; 0: its weights */
  /* A pause of the launching thread that lasts pause_ns leaves its caches cold: the next cold_ns of launching, as it
   * was recorded, take twice as long. Pieces with at most piece_ns of launching between them are one pause. */
  int64_t pause_ns, piece_ns, cold_ns; /* 0: not known */
} timeline_limits;

/* gap, latency: 99.9 % of a full queue's and of an idle device's on an H200 lie within 4 and 20 us; a device of threads
 * has to wake one. at_once: of 24,881 launches on an idle H200, in 247 windows of three models, 95 % began within 2.7
 * us of the launch's end. quiet: host code takes 2 to 20 us between calls, ten times that is computing. fixed: the
 * smallest operations of the CPU device take 20 us. fixed, once: on an H200, without the kernels up to 3.5 us, steps of
 * tiny_ops gain what their rounds cost against control steps (7, 15 and 22 %), and the kernels of 2, 8 and 32 passes
 * over 64 images take 5 us each more than those of one. queue_gap: 30 runs of three models that launch ahead take,
 * without the recorder, 1.3 us a record at the median beyond what the records last (quartiles 1.1 and 1.4). graph_gap,
 * beside_gap: what a graph saves was measured by whole runs with the graph, and by graphs that ran in turns on the same
 * stream. With 0.05 us between kernels, and 0.2 us more where a second stream is in use, 11 such savings of steps with
 * kernels on one stream are missed by 0.3 points at the median and 2.9 at most. 22 of steps with kernels on two streams
 * are missed by 1.5 points at the median and 4.6 at most; the median with its sign is -0.1. pause, cold: on an H200,
 * taking 1.2 ms of computing out of a step saved 24 to 48 us more than that in five of ten kinds of steps, of 170 to
 * 900 us, and 3 to 11 us in the others, most of which wait for the device. Recording made the launching of those
 * five 1.1 to 1.9 times as long. */
static inline timeline_limits timeline_limits_of(bool is_gpu) {
  if (!is_gpu) return (timeline_limits){.gap_ns = 50000, .latency_ns = 100000, .quiet_ns = 250000, .fixed_ns = 20000};
  return (timeline_limits){.gap_ns = 4000,
                           .latency_ns = 20000,
                           .at_once_ns = 3000,
                           .quiet_ns = 250000,
                           .fixed_ns = 3500,
                           .queue_gap_ns = 1300,
                           .graph_gap_ns = 50,
                           .beside_gap_ns = 200,
                           .once_ns = 5000,
                           .pause_ns = 500000,
                           .piece_ns = 20000,
                           .cold_ns = 300000};
}

#endif
