/* See rank_kept.h. */
#include "rank_kept.h"

#include "rank_tables.h"
#include "rank_wire.h"

#include "capture/capture_write.h"

#include <stdlib.h>
#include <string.h>

/* In one run. */
enum { RANKS_MOST = 1 << 16, CLOCK_BEFORE = 0, CLOCK_AFTER = 1 };

static void save_clock(struct capture_writer *to, uint64_t which, const rank_offset *rows, uint32_t count) {
  const capture_head head = {.kind = CAPTURE_RANK_CLOCKS,
                             .window = CAPTURE_NO_WINDOW,
                             .first = which,
                             .count = count,
                             .row_bytes = sizeof *rows};
  (void)capture_put(to, head, rows, count * sizeof *rows);
}

void rank_kept_save(struct capture_writer *to, const rank_side *sides, uint32_t count, const rank_clock *clock) {
  for (uint32_t i = 0; i < count; i++) {
    uint64_t bytes = 0;
    void *packed = rank_wire_pack(&sides[i], &bytes);
    const capture_head head = {
        .kind = CAPTURE_RANK, .window = CAPTURE_NO_WINDOW, .first = i, .count = count, .row_bytes = 1};
    if (packed) (void)capture_put(to, head, packed, bytes);
    free(packed);
  }
  if (!clock) return;
  save_clock(to, CLOCK_BEFORE, clock->before, count);
  save_clock(to, CLOCK_AFTER, clock->after, count);
}

static void take_side(rank_kept *self, const pd_captured *record) {
  if (!self->sides && record->count && record->count <= RANKS_MOST) {
    self->sides = calloc(record->count, sizeof *self->sides);
    self->count = self->sides ? record->count : 0;
  }
  /* In order, so that one that is missing is noticed. */
  if (record->first != self->taken || self->taken >= self->count || record->count != self->count) return;
  self->taken += rank_wire_unpack(record->payload, record->bytes, &self->sides[self->taken]);
}

static void take_clock(rank_kept *self, const pd_captured *record) {
  rank_offset **to = record->first == CLOCK_BEFORE ? &self->clock.before : &self->clock.after;
  const bool fits = record->count == self->count && record->row_bytes == sizeof **to &&
                    record->bytes == (uint64_t)record->count * sizeof **to;
  if (*to || !fits || !record->bytes || !(*to = malloc(record->bytes))) return;
  memcpy(*to, record->payload, record->bytes);
}

void rank_kept_take(rank_kept *self, const pd_captured *record) {
  if (record->kind == CAPTURE_RANK)
    take_side(self, record);
  else
    take_clock(self, record);
}

const pd_table_set *rank_kept_tables(rank_kept *self) {
  if (!self->count || self->taken < self->count) return NULL;
  const rank_clock *clock = self->clock.before && self->clock.after ? &self->clock : NULL;
  if (!rank_summary_make(self->sides, self->count, clock, &self->summary)) return NULL;
  return rank_tables_make(&self->tables, &self->summary);
}

void rank_kept_free(rank_kept *self) {
  arena_free(&self->tables);
  rank_summary_free(&self->summary);
  free(self->clock.before);
  free(self->clock.after);
  for (uint32_t i = 0; i < self->count; i++) rank_side_free(&self->sides[i]);
  free(self->sides);
  *self = (rank_kept){.sides = NULL};
}
