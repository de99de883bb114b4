/*
 * Nesting of one thread's ranges. See nest.h.
 *
 * The recorded depth and the order of ending give the tree exactly, whatever the clock's resolution: read backwards,
 * a range comes right after the ranges that hold it. Linear, but for ranges that start in the same nanosecond.
 */
#include "nest.h"
#include "sort.h"

#include <string.h>

uint64_t nest_parents(const merging *self, const window_thread *thread, uint32_t *parents) {
  const raw_range *ranges = thread->ranges;
  uint64_t from = self->input->start_ticks, to = self->input->end_ticks, kept = 0;
  uint32_t top = PD_NONE;
  for (uint64_t i = thread->range_count; i-- > 0;) {
    const raw_range *range = &ranges[i];
    /* The second condition holds only where a parent was lost to a full buffer. */
    while (top != PD_NONE && (ranges[top].depth >= range->depth || ranges[top].start > range->start))
      top = parents[top];
    bool before = range->end < from || (range->end == from && range->start < from);
    if (before || range->start >= to || merge_is_paused(self, range->start, range->end)) {
      parents[i] = NEST_DROPPED;
      continue;
    }
    parents[i] = top;
    top = (uint32_t)i;
    kept++;
  }
  return kept;
}

static bool row_after(const void *rows, uint32_t a, uint32_t b) {
  const pd_range *first = (const pd_range *)rows + a, *second = (const pd_range *)rows + b;
  if (first->start_ns != second->start_ns) return first->start_ns > second->start_ns;
  if (first->end_ns != second->end_ns) return first->end_ns < second->end_ns;
  return first->depth > second->depth;
}

/* Rows come sorted by start. Puts those of one nanosecond in order, and tells the children where their parents went. */
static void sort_equal_starts(pd_range *rows, uint64_t count, uint64_t first, uint32_t *order, uint32_t *scratch) {
  bool moved = false;
  for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
  for (uint64_t i = 0, end; i < count; i = end) {
    bool sorted = true;
    for (end = i + 1; end < count && rows[end].start_ns == rows[i].start_ns; end++)
      if (row_after(rows, (uint32_t)(end - 1), (uint32_t)end)) sorted = false;
    if (sorted) continue;
    sort_runs(order + i, scratch, end - i, row_after, rows);
    moved = true;
  }
  if (!moved) return;
  uint32_t *place = scratch;
  for (uint64_t i = 0; i < count; i++) place[order[i]] = (uint32_t)i;
  for (uint64_t i = 0; i < count; i++)
    if (rows[i].parent != PD_NONE) rows[i].parent = (uint32_t)(first + place[rows[i].parent - first]);
  for (uint64_t i = 0; i < count; i++)
    while (place[i] != i) {
      uint32_t to = place[i];
      pd_range row = rows[to];
      rows[to] = rows[i];
      rows[i] = row;
      place[i] = place[to];
      place[to] = to;
    }
}

static void fill_row(const merging *self, const window_thread *thread, const raw_range *range, uint64_t shape_base,
                     pd_range *row) {
  uint64_t from = self->input->start_ticks, to = self->input->end_ticks;
  row->start_ns = merge_ticks_ns(self, range->start < from ? from : range->start);
  row->end_ns = merge_ticks_ns(self, range->end > to ? to : range->end);
  row->name = range->name;
  row->kind = (uint8_t)range->kind;
  row->stack = range->stack;
  if (range->info == PD_NONE) return;
  const raw_info *info = &thread->infos[range->info];
  row->part = (uint8_t)info->part;
  row->sequence = info->sequence;
  row->backward = info->backward != 0;
  row->module = info->module;
  row->flops = info->flops;
  row->shape_count = info->shape_count < UINT8_MAX ? (uint8_t)info->shape_count : UINT8_MAX;
  row->shape_first = info->shape_count ? (uint32_t)(shape_base + info->shape_first) : 0;
}

void nest_rows(const merging *self, const window_thread *thread, uint32_t thread_index, const uint32_t *parents,
               uint32_t *size, uint32_t *place, uint64_t first, uint64_t count, uint64_t shape_base) {
  if (!count) return;
  pd_range *rows = self->ranges + first;
  memset(size, 0, thread->range_count * sizeof *size);
  for (uint64_t i = 0; i < thread->range_count; i++) {
    if (parents[i] == NEST_DROPPED) continue;
    size[i]++;
    if (parents[i] != PD_NONE) size[parents[i]] += size[i];
  }
  /* A range takes the last free rows of its parent's block; its own block is filled from the end in turn. */
  uint32_t free_end = (uint32_t)count;
  for (uint64_t i = thread->range_count; i-- > 0;) {
    if (parents[i] == NEST_DROPPED) continue;
    uint32_t *end = parents[i] == PD_NONE ? &free_end : &size[parents[i]];
    uint32_t block = size[i];
    *end -= block;
    place[i] = *end;
    size[i] = place[i] + block;
    pd_range *row = &rows[place[i]];
    fill_row(self, thread, &thread->ranges[i], shape_base, row);
    row->thread = thread_index;
    row->parent = parents[i] == PD_NONE ? PD_NONE : (uint32_t)(first + place[parents[i]]);
    row->depth = parents[i] == PD_NONE ? 0 : rows[place[parents[i]]].depth + 1;
  }
  sort_equal_starts(rows, count, first, size, place);
  step_cursor cursor = {self->steps, self->input->step_count, 0};
  for (uint64_t i = 0; i < count; i++) {
    rows[i].step = merge_step_at(&cursor, rows[i].start_ns);
    if (!rows[i].part && rows[i].parent != PD_NONE) rows[i].part = self->ranges[rows[i].parent].part;
  }
}
