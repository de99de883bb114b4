/* See program.h. With nothing removed each record starts when it did: one of the things that hold it up is as long as
 * it was, and none is longer. */
#include "program.h"

#include "facts/weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool has_waves(const pd_activity *detail) {
  return detail->kind == PD_ACTIVITY_KERNEL && detail->u.kernel.waves >= 0;
}

/* What a kernel of `ns` takes however little it does. On a device of threads that is what its weights take. On a GPU,
 * several waves of blocks hide it: conversions of the layout by two waves took 4.2 us for three samples on an H200, and
 * 23.6 us for twenty. The kernels of 18 runs of small_batch were also recorded with all passes in one: the mean error
 * is 4.7 points of the device's time where the fixed part shrinks with the square of the waves, and 6.8 where it does
 * not.
 */
static double once_ns(const timeline *of, const timeline_record *record, double ns, double as_rows) {
  const pd_device_row *row = timeline_row(of, record);
  if (row->detail.kind != PD_ACTIVITY_KERNEL) return 0;
  if (!of->limits.once_ns) return ns * weights_share(of->facts, row, as_rows);
  const double waves = has_waves(&row->detail) ? fmax(1, (double)row->detail.u.kernel.waves) : 1;
  return fmin(ns, (double)of->limits.once_ns / (waves * waves));
}

/* A record that does the work of all passes: its fixed part once, and `times` the rest of one pass, the mean of them.
 */
static int64_t repeated_ns(const timeline *of, const timeline_record *record, double times, double as_rows) {
  const timeline_later *later = &of->later[record - of->records];
  const int64_t whole_ns = facts_span(record->start_ns, record->end_ns);
  if (record->pass) return whole_ns;
  const double ns = (double)(whole_ns + later->ns) / (1.0 + later->count);
  const double once = once_ns(of, record, ns, as_rows);
  return (int64_t)(once + (ns - once) * times);
}

/* Where the blocks of all passes fill the device, this part of what lies between as many waves more and as many times
 * the work. In a pass, a kernel finds in the cache what the one before it left there; of all samples less fits in. And
 * sums over the samples keep their grid. The mean error of those 18 runs is 4.7 points with 0.3, 4.5 with 0.4, and 6.4
 * without. Ten more of ten kinds of steps are missed by 4.6 points at the median with 0.3, and by 3.3 with 0.5. */
#define FILLED 0.5
/* Where those of one pass fill it already, this part of the further passes' work: each launch begins and ends by
 * itself, and a grid that is made for the device does not grow. 16 gains of small_batch of 16 kinds of steps on an H200
 * are missed by 3.7 points at the median with 0.8 (the mean is -0.9), and by 4.7 with 1 (-3.1). */
#define FULL 0.8

/* As many waves more as the blocks of all passes need, or somewhat longer. A copy takes as many times as long; a device
 * without grids is taken as full. */
static int64_t likely_ns(const timeline *of, const timeline_record *record) {
  const pd_activity *detail = &timeline_row(of, record)->detail;
  const double passes = (double)of->passes;
  const int64_t longest = repeated_ns(of, record, passes, WEIGHTS_ROWS);
  if (!has_waves(detail)) return longest;
  const double waves = (double)detail->u.kernel.waves;
  if (waves >= 1) return repeated_ns(of, record, 1 + FULL * (passes - 1), 0);
  const int64_t shortest = repeated_ns(of, record, fmax(1, passes * waves) / fmax(1, waves), 0);
  return shortest + (int64_t)(FILLED * fmin(1, passes * waves) * (double)(longest - shortest));
}

static replay_owners owners_of(const timeline *of, const timeline_record *record, const timeline_call *call) {
  replay_owners owners = call->owner & (REPLAY_SYNC | REPLAY_PAGEABLE | REPLAY_ALLOCATOR);
  if (record->leaves_chain) owners |= REPLAY_CHAIN;
  if (record->kind == PD_ACTIVITY_MEMCPY && timeline_row(of, record)->detail.u.copy.from == PD_MEMORY_PINNED)
    owners |= REPLAY_PINNED;
  return owners;
}

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static bool is_of_full_queue(const timeline *of, const replay_record *record) {
  return record->gap_ns >= 0 && record->gap_ns < TIMELINE_DELAY_GAPS * of->limits.gap_ns;
}

int64_t program_captured_gap(const timeline *of) {
  return of->limits.graph_gap_ns + (of->streams_used > 1 ? of->limits.beside_gap_ns : 0);
}

/* Records of a recorded graph include what the device takes between them. So none of the gap is the device's own. Where
 * kernels run on several streams they do not include it. */
static int64_t inside_gap(const timeline *of) { return of->kernel_streams > 1 ? program_captured_gap(of) : 0; }

static int32_t recording_of(const timeline *of, const replay_record *record, int64_t queue_gap_ns) {
  const int64_t own_ns = record->flags & REPLAY_INSIDE ? inside_gap(of) : queue_gap_ns;
  return (int32_t)(record->gap_ns - least(record->gap_ns, own_ns));
}

void program_set_queue_gap(program *self, const timeline *of, int64_t own_ns) {
  for (uint32_t r = 0; r < of->record_count; r++)
    if (is_of_full_queue(of, &self->records[r]))
      self->records[r].recording_ns = recording_of(of, &self->records[r], own_ns);
}

static replay_record record_of(const timeline *of, const timeline_record *record) {
  const timeline_call *call = &of->calls[record->call];
  const int64_t length = call->end_ns - call->start_ns;
  replay_record out = {
      .duration_ns = facts_span(record->start_ns, record->end_ns),
      .latency_ns = record->hold == TIMELINE_BY_LAUNCH ? record->latency_ns : least(of->latency_ns, record->latency_ns),
      .gap_ns = record->hold == TIMELINE_BY_STREAM ? record->gap_ns : least(of->gap_ns, record->gap_ns),
      .edge_ns = record->hold == TIMELINE_BY_EDGE ? record->edge_ns : least(of->gap_ns, record->edge_ns),
      .stream = record->stream,
      .edge_first = record->edge_first,
      .edge_count = record->edge_count,
      .owners = owners_of(of, record, call)};
  const bool shrinks = !call->is_graph; /* another graph would make neither the record nor the gap before it shorter */
  const bool inside = !shrinks && record > &of->records[call->record_first];
  if (shrinks && record->kind == PD_ACTIVITY_KERNEL && out.duration_ns < of->limits.fixed_ns)
    out.fixed_ns = (int32_t)out.duration_ns;
  if (is_of_full_queue(of, &out)) {
    if (shrinks) out.fixed_gap_ns = (int32_t)(out.gap_ns - least(out.gap_ns / 2, program_captured_gap(of)));
    if (inside) out.flags |= REPLAY_INSIDE;
    out.recording_ns = recording_of(of, &out, of->limits.queue_gap_ns);
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

#define PAUSES (REPLAY_INPUT | REPLAY_ALLOCATOR | REPLAY_PAGEABLE | REPLAY_HOST)

typedef struct lane_pauses {
  int64_t paused_ns[TIMELINE_OWNERS]; /* by owner, in this pause */
  int64_t since_ns;                   /* launching since its last piece */
  int64_t warming_ns;                 /* launching since the last long pause */
  replay_owners cold;                 /* whose pauses were long */
} lane_pauses;

static void pause_for(const timeline_limits *limits, lane_pauses *lane, const replay_item *item) {
  int64_t *paused_ns = &lane->paused_ns[__builtin_ctz(item->owner)];
  if (lane->since_ns > limits->piece_ns) memset(lane->paused_ns, 0, sizeof lane->paused_ns);
  lane->since_ns = 0;
  *paused_ns += item->duration_ns;
  if (*paused_ns < limits->pause_ns) return;
  lane->cold |= item->owner;
  lane->warming_ns = 0;
}

static void launch_for(const timeline_limits *limits, lane_pauses *lane, replay_item *item) {
  lane->since_ns += item->duration_ns;
  lane->warming_ns += item->duration_ns;
  if (lane->warming_ns > limits->cold_ns) lane->cold = 0;
  item->pauses = (uint16_t)lane->cold;
}

static bool mark_pauses(timeline *of) {
  lane_pauses *lanes = calloc((size_t)of->lane_count + 1, sizeof *lanes);
  for (uint64_t i = 0; lanes && of->limits.cold_ns && i < of->item_count; i++) {
    replay_item *item = &of->items[i];
    if (item->owner & PAUSES) pause_for(&of->limits, &lanes[item->lane], item);
    if ((item->owner & REPLAY_LAUNCHES) && !(item->flags & REPLAY_BLOCKS))
      launch_for(&of->limits, &lanes[item->lane], item);
  }
  free(lanes);
  return lanes != NULL;
}

bool program_open(timeline *of, program *out) {
  *out = (program){.records = malloc(((size_t)of->record_count + 1) * sizeof *out->records)};
  if (!out->records || !mark_pauses(of)) return false;
  if (of->passes > 1) out->merged = malloc(((size_t)of->record_count + 1) * sizeof *out->merged);
  if (of->passes > 1 && !out->merged) return false;
  for (uint32_t r = 0; r < of->record_count; r++) {
    const timeline_record *record = &of->records[r];
    if (out->merged)
      out->merged[r] =
          (replay_merged){likely_ns(of, record), repeated_ns(of, record, (double)of->passes, WEIGHTS_ROWS_LEAST)};
    out->records[r] = record_of(of, record);
  }
  out->replay = (replay){.items = of->items,
                         .records = out->records,
                         .merged = out->merged,
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
  free(self->merged);
  self->records = NULL;
  self->merged = NULL;
}
