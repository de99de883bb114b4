/* See replay.h. */
#include "replay.h"

#include <stdlib.h>

/* Before every time, and far enough from the end of the type that a gap may be added. */
#define LONG_AGO (INT64_MIN / 4)

typedef struct run_state {
  const replay *program;
  const replay_variant *variant;
  int64_t device_end; /* of all records so far */
} run_state;

bool replay_open(replay *self) {
  self->ends = malloc(((size_t)self->record_count + 1) * sizeof *self->ends);
  self->available = malloc(((size_t)self->stream_count + 1) * sizeof *self->available);
  self->clocks = malloc(((size_t)self->lane_count + 1) * sizeof *self->clocks);
  if (self->ends && self->available && self->clocks) return true;
  replay_close(self);
  return false;
}

void replay_close(replay *self) {
  free(self->ends);
  free(self->available);
  free(self->clocks);
  self->ends = self->available = self->clocks = NULL;
}

static int64_t later(int64_t a, int64_t b) { return a > b ? a : b; }

/* What the item takes without the recorder, and without the pauses before it. */
static int64_t own_time(const replay_variant *variant, const replay_item *item) {
  const bool is_shorter = (item->flags & REPLAY_SCALED) && variant->keep < 1;
  const bool is_warm = item->pauses && !(item->pauses & ~variant->without);
  const int64_t time = is_shorter ? (int64_t)((double)item->duration_ns * variant->keep) : item->duration_ns;
  return is_warm ? time / 2 : time;
}

/* Whether the item's records are gone as a whole. */
static bool is_dropped(const run_state *self, const replay_item *item) {
  return self->variant->one_pass && (item->flags & REPLAY_LATER_PASS);
}

static bool is_captured(const replay_variant *variant, const replay_item *item) {
  return variant->graph && !(variant->same_kernels && (item->flags & REPLAY_OUTSIDE));
}

static int64_t host_time(const run_state *self, const replay_item *item) {
  const replay_variant *variant = self->variant;
  const replay_owners gone = variant->without | (is_captured(variant, item) ? variant->graph : 0);
  return is_dropped(self, item) || (item->owner & gone) ? 0 : own_time(variant, item);
}

/* A record that began during a long call begins earlier where the call is shorter. */
static int64_t latency_of(const run_state *self, const replay_item *item, const replay_record *record) {
  int64_t latency = record->latency_ns;
  if (!(record->flags & (REPLAY_BY_CALL | REPLAY_DELAYED))) return latency; /* most of them */
  const int64_t call = own_time(self->variant, item);
  if (record->flags & REPLAY_BY_CALL) latency -= item->duration_ns - call;
  if (!self->variant->eager || !(record->flags & REPLAY_DELAYED)) return latency;
  const int64_t most = self->program->latency_ns + call;
  return latency < most ? latency : most;
}

static int64_t gap_of(const run_state *self, const replay_record *record, bool is_in_graph) {
  const double added = record->recording_ns, keep = self->variant->keep;
  int64_t own = record->gap_ns;
  if (keep < 1)
    own -= record->recording_ns - (int64_t)(added * (record->flags & REPLAY_INSIDE ? self->program->inside : keep));
  const int64_t captured = record->gap_ns - record->fixed_gap_ns;
  return is_in_graph && captured < own ? captured : own;
}

static int64_t length_of(const run_state *self, uint32_t record) {
  const replay *program = self->program;
  if (!self->variant->one_pass || !program->merged) return program->records[record].duration_ns;
  return self->variant->longest ? program->merged[record].longest_ns : program->merged[record].likely_ns;
}

static void launch(run_state *self, const replay_item *item, uint32_t index, int64_t now, bool dropped) {
  const replay *program = self->program;
  const replay_record *record = &program->records[index];
  if (dropped || (record->owners & self->variant->without) ||
      (self->variant->one_pass && (record->flags & REPLAY_LATER_PASS))) {
    program->ends[index] = now;
    return;
  }
  int64_t *available = &program->available[record->stream];
  const bool captured = is_captured(self->variant, item);
  int64_t gap = gap_of(self, record, captured);
  if (self->variant->eager && (record->flags & REPLAY_DELAYED) && gap > program->gap_ns) gap = program->gap_ns;
  int64_t start = later(now + latency_of(self, item, record), *available + gap);
  for (uint32_t e = record->edge_first; e < record->edge_first + record->edge_count; e++) {
    const replay_edge *edge = &program->edges[e];
    if (!(edge->apart && self->variant->apart)) start = later(start, program->ends[edge->record] + record->edge_ns);
  }
  const int64_t length = length_of(self, index);
  const int64_t fixed = captured && !self->variant->same_kernels ? record->fixed_ns : 0;
  const int64_t end = start + later(length - fixed, 0);
  program->ends[index] = end;
  *available = later(*available, end);
  self->device_end = later(self->device_end, end);
}

/* The recorder reads its clock before and after the call's own work. */
static int64_t kept(const replay_variant *variant, const replay_item *item, int64_t ns) {
  const bool is_shorter = variant->keep < 1 && !(item->owner & REPLAY_MEASUREMENT);
  return is_shorter ? (int64_t)((double)ns * variant->keep) : ns;
}

static int64_t after(const run_state *self, const replay_item *item, int64_t now) {
  const int64_t time = host_time(self, item);
  const replay_variant *variant = self->variant;
  if (!(item->flags & REPLAY_BLOCKS) || is_dropped(self, item) || (item->owner & variant->without)) return now + time;
  if (item->wait == REPLAY_NONE) return now + time;
  const replay_wait *wait = &self->program->waits[item->wait];
  const int64_t done = item->flags & REPLAY_DRAINS ? self->device_end : self->program->ends[wait->awaited];
  return later(now + kept(variant, item, wait->own_ns), done + kept(variant, item, wait->tail_ns));
}

void replay_steps(const replay *self, const replay_variant *variant, int64_t *bounds) {
  run_state state = {.program = self, .variant = variant, .device_end = LONG_AGO};
  uint32_t step = 0;
  for (uint32_t s = 0; s < self->stream_count; s++) self->available[s] = LONG_AGO;
  for (uint32_t l = 0; l < self->lane_count; l++) self->clocks[l] = self->start_ns;
  bounds[0] = self->start_ns;
  for (uint64_t i = 0; i < self->item_count; i++) {
    const replay_item *item = &self->items[i];
    int64_t *clock = &self->clocks[item->lane];
    while (item->lane == 0 && step < item->step) bounds[++step] = later(*clock, state.device_end);
    const bool dropped = is_dropped(&state, item);
    for (uint32_t r = item->record_first; r < item->record_first + item->record_count; r++)
      launch(&state, item, r, *clock, dropped);
    *clock = after(&state, item, *clock);
  }
  while (step < self->step_count) bounds[++step] = later(self->clocks[0], state.device_end);
}
