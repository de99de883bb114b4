/* See rank_operations.h. */
#include "rank_operations.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

static rank_operation *row_of(rank_operations *self, const char *name) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->rows[i].name == name || strcmp(self->rows[i].name, name) == 0) return &self->rows[i];
  if (!PD_ARRAY_FIT(self->rows, self->room, self->count + 1)) return NULL;
  self->rows[self->count] = (rank_operation){.name = name};
  return &self->rows[self->count++];
}

static void add(rank_operation *self, const rank_collective *at, int64_t transfer_ns) {
  const int64_t latency_ns = at->end_ns - at->start_ns;
  self->calls++;
  self->latency_ns += latency_ns;
  self->sized += at->bytes > 0;
  self->bytes += at->bytes;
  if (transfer_ns == RANK_NO_TRANSFER) return;
  self->common++;
  self->common_ns += latency_ns;
  self->wait_ns += latency_ns - transfer_ns;
  self->transfer_ns += transfer_ns;
}

static int by_latency(const void *a, const void *b) {
  const rank_operation *x = a, *y = b;
  if (x->latency_ns != y->latency_ns) return x->latency_ns < y->latency_ns ? 1 : -1;
  return strcmp(x->name, y->name);
}

bool rank_operations_make(const rank_side *side, const int64_t *transfers, rank_operations *out) {
  for (uint32_t i = 0; i < side->collective_count; i++) {
    rank_operation *row = row_of(out, side->collectives[i].name);
    if (!row) return false;
    add(row, &side->collectives[i], transfers[i]);
    add(&out->all, &side->collectives[i], transfers[i]);
  }
  if (out->count) qsort(out->rows, out->count, sizeof *out->rows, by_latency);
  return true;
}

void rank_operations_free(rank_operations *self) { free(self->rows); }
