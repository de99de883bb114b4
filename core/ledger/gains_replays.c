/* See gains_replays.h. */
#include "gains_replays.h"

#include "trace/sort.h"

#include <stdlib.h>

/* In one array, by start: a replay asks for them all. */
static bool take_spans(gains_replays *self, const timeline *of, const program *made) {
  const size_t room = (size_t)of->record_count + 1;
  uint32_t *order = malloc(room * sizeof *order), *scratch = malloc(room * sizeof *scratch);
  self->spans = malloc(room * sizeof *self->spans);
  const bool ok = order && scratch && self->spans;
  for (uint32_t i = 0; ok && i < of->record_count; i++) order[i] = i;
  if (ok) sort_runs(order, scratch, of->record_count, timeline_starts_after, of->records);
  for (uint32_t i = 0; ok && i < of->record_count; i++) {
    const timeline_record *record = &of->records[order[i]];
    const replay_record *replayed = &made->records[order[i]];
    if (of->calls[record->call].step < self->first) continue;
    self->spans[self->span_count++] = (gains_span){.start_ns = record->start_ns,
                                                   .end_ns = record->end_ns,
                                                   .fixed_ns = (int32_t)replayed->fixed_ns,
                                                   .owners = replayed->owners};
  }
  free(order);
  free(scratch);
  return ok;
}

static void see_program(gains_replays *self) {
  const replay *of = self->replay;
  for (uint64_t i = 0; i < of->item_count; i++) self->owners |= of->items[i].owner;
  for (uint32_t r = 0; r < of->record_count; r++) {
    const replay_record *record = &of->records[r];
    self->owners |= record->owners;
    self->has_delayed |= (record->flags & REPLAY_DELAYED) != 0;
    for (uint32_t e = record->edge_first; e < record->edge_first + record->edge_count; e++)
      self->has_apart |= of->edges[e].apart;
  }
}

bool gains_replays_open(gains_replays *self, const timeline *of, const program *made, uint32_t first, uint32_t count) {
  *self = (gains_replays){.replay = &made->replay, .first = first, .count = count};
  self->bounds = malloc(((size_t)of->step_count + 1) * sizeof *self->bounds);
  see_program(self);
  return self->bounds && take_spans(self, of, made);
}

void gains_replays_close(gains_replays *self) {
  free(self->bounds);
  free(self->spans);
}

/* Without what changes nothing in this program. */
static replay_variant plain(const gains_replays *self, const replay_variant *variant) {
  replay_variant out = *variant;
  out.without &= self->owners;
  out.apart &= self->has_apart;
  out.eager &= self->has_delayed;
  out.same_kernels &= out.graph != 0;
  out.longest &= out.one_pass;
  return out;
}

static bool is_same(const replay_variant *a, const replay_variant *b) {
  return a->without == b->without && a->graph == b->graph && a->same_kernels == b->same_kernels &&
         a->one_pass == b->one_pass && a->longest == b->longest && a->apart == b->apart && a->eager == b->eager &&
         !(a->keep < b->keep) && !(a->keep > b->keep);
}

bool gains_replays_alike(const gains_replays *self, const replay_variant *a, const replay_variant *b) {
  const replay_variant first = plain(self, a), second = plain(self, b);
  return is_same(&first, &second);
}

double gains_replays_make(gains_replays *self, const replay_variant *variant) {
  replay_steps(self->replay, variant, self->bounds);
  const double mean = (double)(self->bounds[self->first + self->count] - self->bounds[self->first]) / self->count;
  if (self->known_count < GAINS_REPLAYS_KNOWN)
    self->known[self->known_count++] = (gains_known){plain(self, variant), mean};
  return mean;
}

double gains_replays_mean(gains_replays *self, const replay_variant *variant) {
  const replay_variant wanted = plain(self, variant);
  for (uint32_t i = 0; i < self->known_count; i++)
    if (is_same(&self->known[i].variant, &wanted)) return self->known[i].mean;
  return gains_replays_make(self, variant);
}

double gains_replays_least(const gains_replays *self, const replay_variant *variant) {
  const bool moves = variant->eager || variant->graph || variant->without;
  if (!moves || variant->apart || variant->one_pass) return 0;
  const int64_t fixed = variant->graph && !variant->same_kernels;
  int64_t end = INT64_MIN, busy = 0;
  for (uint32_t i = 0; i < self->span_count; i++) {
    const gains_span *span = &self->spans[i];
    if (span->owners & variant->without) continue;
    const int64_t from = span->start_ns > end ? span->start_ns : end, to = span->end_ns - fixed * span->fixed_ns;
    if (to <= from) continue;
    busy += to - from;
    end = to;
  }
  return (double)busy / self->count;
}
