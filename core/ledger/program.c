/* See program.h. With nothing removed each record starts when it did: one of the things that hold it up is as long as
 * it was, and none is longer. */
#include "program.h"

#include <math.h>
#include <stdlib.h>

static bool has_waves(const pd_activity *detail) {
  return detail->kind == PD_ACTIVITY_KERNEL && detail->u.kernel.waves >= 0;
}

/* What a kernel takes however little it does. Several waves of blocks hide it: conversions of the layout by two waves
 * took 4.2 us for three samples on an H200, and 23.6 us for twenty. The kernels of 18 runs of small_batch were also
 * recorded with all passes in one: the mean error is 4.7 points of the device's time where the fixed part shrinks with
 * the square of the waves, and 6.8 where it does not. */
static double once_ns(const timeline *of, const pd_activity *detail) {
  if (detail->kind != PD_ACTIVITY_KERNEL) return 0;
  const double waves = has_waves(detail) ? fmax(1, (double)detail->u.kernel.waves) : 1;
  return (double)of->limits.once_ns / (waves * waves);
}

/* A record that does the work of all passes: its fixed part once, and `times` the rest. */
static int64_t repeated_ns(const timeline *of, const timeline_record *record, double times) {
  const double ns = (double)facts_span(record->start_ns, record->end_ns);
  if (record->pass) return (int64_t)ns;
  const double once = fmin(ns, once_ns(of, &timeline_row(of, record)->detail));
  return (int64_t)(once + (ns - once) * times);
}

/* Where the blocks of all passes fill the device, this part of what lies between as many waves more and as many times
 * the work. In a pass, a kernel finds in the cache what the one before it left there; of all samples less fits in. And
 * sums over the samples keep their grid. The mean error of those 18 runs is 4.7 points with
 * 0.3, 4.5 with 0.4, and 6.4 without. */
#define FILLED 0.3

/* As many waves more as the blocks of all passes need, or somewhat longer. A copy takes as many times as long; a device
 * without grids is taken as full. */
static int64_t merged_ns(const timeline *of, const timeline_record *record) {
  const pd_activity *detail = &timeline_row(of, record)->detail;
  const double passes = (double)of->passes;
  const int64_t longest = repeated_ns(of, record, passes);
  if (!has_waves(detail)) return longest;
  const double waves = (double)detail->u.kernel.waves;
  const int64_t shortest = repeated_ns(of, record, fmax(1, passes * waves) / fmax(1, waves));
  return shortest + (int64_t)(FILLED * fmin(1, passes * waves) * (double)(longest - shortest));
}

static replay_owners owners_of(const timeline *of, const timeline_record *record, const timeline_call *call) {
  const pd_activity *detail = &timeline_row(of, record)->detail;
  replay_owners owners = call->owner & (REPLAY_SYNC | REPLAY_PAGEABLE | REPLAY_ALLOCATOR);
  if (record->leaves_chain) owners |= REPLAY_CHAIN;
  if (detail->kind == PD_ACTIVITY_MEMCPY && detail->u.copy.from == PD_MEMORY_PINNED) owners |= REPLAY_PINNED;
  return owners;
}

/* Launched as a part of a graph: another graph would make neither it nor the gap before it shorter. */
static bool is_in_graph(const timeline *of, const timeline_call *call) {
  return facts_call(of->facts, call->source)->api == PD_API_GRAPH_LAUNCH;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static replay_record record_of(const timeline *of, const timeline_record *record) {
  const timeline_call *call = &of->calls[record->call];
  const int64_t length = call->end_ns - call->start_ns;
  const int64_t gap_ns = record->hold == TIMELINE_BY_STREAM ? record->gap_ns : least(of->gap_ns, record->gap_ns);
  replay_record out = {
      .duration_ns = facts_span(record->start_ns, record->end_ns),
      .merged_ns = merged_ns(of, record),
      .longest_ns = repeated_ns(of, record, (double)of->passes),
      .latency_ns = record->hold == TIMELINE_BY_LAUNCH ? record->latency_ns : least(of->latency_ns, record->latency_ns),
      .gap_ns = gap_ns,
      .own_gap_ns = gap_ns,
      .edge_ns = record->hold == TIMELINE_BY_EDGE ? record->edge_ns : least(of->gap_ns, record->edge_ns),
      .stream = record->stream,
      .edge_first = record->edge_first,
      .edge_count = record->edge_count,
      .owners = owners_of(of, record, call)};
  const bool shrinks = !is_in_graph(of, call);
  if (shrinks && record->kind == PD_ACTIVITY_KERNEL && out.duration_ns < of->limits.fixed_ns)
    out.fixed_ns = least(out.duration_ns, out.merged_ns);
  if (out.gap_ns >= 0 && out.gap_ns < TIMELINE_DELAY_GAPS * of->limits.gap_ns) { /* of a full queue */
    const int64_t captured = out.fixed_ns ? of->limits.short_graph_gap_ns : of->limits.graph_gap_ns;
    if (shrinks) out.fixed_gap_ns = out.gap_ns - least(out.gap_ns / 2, captured);
    out.own_gap_ns = least(out.gap_ns, of->limits.queue_gap_ns);
  }
  if (record->pass && record->pass != REPLAY_NONE) out.flags |= REPLAY_LATER_PASS;
  if (record->hold == TIMELINE_BY_STREAM && record->gap_ns >= TIMELINE_DELAY_GAPS * of->limits.gap_ns)
    out.flags |= REPLAY_DELAYED;
  if (record->hold != TIMELINE_BY_LAUNCH) return out;
  if (record->latency_ns > of->limits.latency_ns && record->start_ns <= call->end_ns + of->limits.latency_ns)
    out.flags |= REPLAY_BY_CALL;
  if (!record->edge_count && record->latency_ns > of->latency_ns + length) out.flags |= REPLAY_DELAYED;
  return out;
}

/* ---- what pauses leave behind ---- */

/* Where the launching thread did something else for PAUSE_NS, its caches are cold, and the next COLD_NS of its
 * launching take about twice as long. On an H200, taking 1.2 ms of computing out of a step saved 24 to 48 us more than
 * that where the step waits for its launching (four kinds of steps of 170 to 900 us), and 3 to 10 us where it waits for
 * the device (three). */
#define PAUSE_NS 500000
#define COLD_NS 300000
#define LAUNCHES (REPLAY_LAUNCH | REPLAY_CHAIN)
#define PAUSES (REPLAY_INPUT | REPLAY_ALLOCATOR | REPLAY_PAGEABLE | REPLAY_HOST)

typedef struct lane_pauses {
  int64_t paused_ns[TIMELINE_OWNERS]; /* by owner, since the caches were warm */
  int64_t launched_ns;                /* since the last long pause */
} lane_pauses;

static replay_owners long_ones(const lane_pauses *lane) {
  replay_owners out = 0;
  for (uint32_t o = 0; o < TIMELINE_OWNERS; o++)
    if (lane->paused_ns[o] >= PAUSE_NS) out |= 1u << o;
  return out;
}

/* Nothing is known of pauses on a device of threads. false on no memory. */
static bool mark_pauses(const timeline *of) {
  const pd_device_props *device = of->facts->trace->device;
  if (device && !device->is_cuda) return true;
  lane_pauses *lanes = calloc((size_t)of->lane_count + 1, sizeof *lanes);
  for (uint64_t i = 0; lanes && i < of->item_count; i++) {
    replay_item *item = &of->items[i];
    lane_pauses *lane = &lanes[item->lane];
    if (item->owner & PAUSES) {
      lane->paused_ns[__builtin_ctz(item->owner)] += item->duration_ns;
      if (item->duration_ns >= PAUSE_NS) lane->launched_ns = 0;
    } else if ((item->owner & LAUNCHES) && !(item->flags & REPLAY_BLOCKS)) {
      item->pauses = (uint16_t)long_ones(lane);
      lane->launched_ns += item->duration_ns;
      if (lane->launched_ns >= COLD_NS) *lane = (lane_pauses){0};
    }
  }
  free(lanes);
  return lanes != NULL;
}

bool program_open(const timeline *of, program *out) {
  *out = (program){.records = malloc(((size_t)of->record_count + 1) * sizeof *out->records)};
  if (!out->records || !mark_pauses(of)) return false;
  for (uint32_t r = 0; r < of->record_count; r++) out->records[r] = record_of(of, &of->records[r]);
  out->replay = (replay){.items = of->items,
                         .records = out->records,
                         .edges = of->edges,
                         .waits = of->waits,
                         .item_count = of->item_count,
                         .record_count = of->record_count,
                         .stream_count = (uint32_t)of->facts->trace->streams.count,
                         .lane_count = of->lane_count,
                         .step_count = of->step_count,
                         .start_ns = of->bounds[0],
                         .latency_ns = of->latency_ns,
                         .gap_ns = of->gap_ns};
  return replay_open(&out->replay);
}

void program_close(program *self) {
  replay_close(&self->replay);
  free(self->records);
  self->records = NULL;
}
