/* See timeline.h: who owns the host while the device is idle, which is the naive answer that the gains stand beside. */
#include "timeline.h"

static uint32_t bit_of(replay_owners owner) { return owner ? (uint32_t)__builtin_ctz(owner) : 0; }

static bool find_busy(timeline *self) {
  const int64_t from = self->bounds[0], to = self->bounds[self->step_count];
  bool ok = true;
  for (uint32_t i = 0; ok && i < self->record_count; i++) {
    const timeline_record *record = &self->records[i];
    ok = intervals_add(&self->busy, record->start_ns, record->end_ns);
    if (record->kind != PD_ACTIVITY_MEMCPY) continue;
    const int64_t start = record->start_ns > from ? record->start_ns : from;
    const int64_t end = record->end_ns < to ? record->end_ns : to;
    if (end > start && timeline_row(self, record)->detail.u.copy.from == PD_MEMORY_PAGEABLE)
      self->pageable_ns += end - start;
  }
  return ok && intervals_merge(&self->busy);
}

/* What lies between two calls that work for something counts for both of their owners; queries divide nothing. A
 * silence that would be computing among operations counts for that. */
void timeline_count_beside(timeline *self) {
  if (self->has_operations) return;
  for (uint16_t lane = 0; lane < self->lane_count; lane++) {
    int64_t quiet = 0;
    uint32_t before = 0;
    for (uint64_t i = 0; i < self->item_count; i++) {
      const replay_item *item = &self->items[i];
      if (item->lane != lane) continue;
      const bool is_call = !(item->flags & REPLAY_QUIET);
      if (item->owner == REPLAY_LAUNCH && !(is_call && self->calls[item->wait].record_count)) {
        const bool is_silence = !is_call && item->duration_ns >= self->limits.quiet_ns;
        if (is_silence) self->beside_ns[bit_of(REPLAY_HOST)] += item->duration_ns;
        quiet += item->duration_ns;
        continue;
      }
      const uint32_t behind = item->owner & ~(uint32_t)(REPLAY_LAUNCH | REPLAY_HOST);
      for (uint32_t owners = before | behind; owners; owners &= owners - 1) self->beside_ns[bit_of(owners)] += quiet;
      before = behind;
      quiet = 0;
    }
  }
}

bool timeline_count_idle(timeline *self) {
  const intervals *busy = &self->busy;
  size_t at = 0;
  if (!self->step_count) return true;
  const bool is_own = (self->facts->trace->facts & PD_FACT_TRAIN) != 0;
  bool ok = find_busy(self);
  for (uint64_t i = 0; ok && i < self->item_count; i++) {
    const replay_item *item = &self->items[i];
    const int64_t from = item->begin_ns, to = from + item->duration_ns;
    if (item->lane) continue;
    while (at < busy->count && busy->rows[at].end <= from) at++;
    int64_t idle = item->duration_ns;
    for (size_t b = at; b < busy->count && busy->rows[b].start < to; b++) {
      const interval *row = &busy->rows[b];
      idle -= (row->end < to ? row->end : to) - (row->start > from ? row->start : from);
    }
    self->idle_ns[bit_of(item->owner)] += idle;
    ok = is_own || intervals_add(&self->host[bit_of(item->owner)], from, to);
    if (ok && !is_own && item->owner == REPLAY_INPUT && (item->flags & REPLAY_SCALED))
      ok = intervals_add(&self->made, from, to);
  }
  return ok;
}
