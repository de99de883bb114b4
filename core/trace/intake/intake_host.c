/* What the host did, as a reader tells it: states of threads, children, places in code. See intake_rows.h. */
#include "intake_rows.h"

#include "trace/sort.h"

#include <stdlib.h>

/* ---- as they are given ---- */

static bool plausible(intake *self, int64_t start, int64_t end) {
  const bool good = intake_can_hold(start, end) && end >= start;
  if (!good) self->losses[PD_LOSS_IMPLAUSIBLE]++;
  return good;
}

static void add_state(const pd_intake *table, const pd_state_row *given) {
  intake *self = table->impl;
  if (!plausible(self, given->start_ns, given->end_ns) || given->thread >= self->threads.count) return;
  pd_state_row *row = row_array_add(&self->states, sizeof *row);
  if (row)
    *row = *given;
  else
    self->failed = true;
}

static void add_child(const pd_intake *table, const pd_child_row *given) {
  intake *self = table->impl;
  if (!plausible(self, given->ts_ns, given->ts_ns)) return;
  pd_child_row *row = row_array_add(&self->children, sizeof *row);
  if (row)
    *row = *given;
  else
    self->failed = true;
}

static void add_code(const pd_intake *table, const pd_code_row *given) {
  intake *self = table->impl;
  if (!plausible(self, given->ts_ns, given->ts_ns) || given->thread >= self->threads.count) return;
  pd_code_row *row = row_array_add(&self->code, sizeof *row);
  if (row)
    *row = *given;
  else
    self->failed = true;
}

void intake_open_host(pd_intake *table) {
  table->state = add_state;
  table->child = add_child;
  table->code = add_code;
}

/* ---- into the trace ---- */

/* Rows by what they are of, and by time. */
typedef struct host_order {
  const void *rows;
  const uint32_t *thread_rows;
} host_order;

static bool state_after(const void *user, uint32_t a, uint32_t b) {
  const host_order *by = user;
  const pd_state_row *first = (const pd_state_row *)by->rows + a, *second = (const pd_state_row *)by->rows + b;
  if (first->thread != second->thread) return by->thread_rows[first->thread] > by->thread_rows[second->thread];
  return first->start_ns > second->start_ns;
}

static bool child_after(const void *user, uint32_t a, uint32_t b) {
  const host_order *by = user;
  const pd_child_row *first = (const pd_child_row *)by->rows + a, *second = (const pd_child_row *)by->rows + b;
  return first->pid != second->pid ? first->pid > second->pid : first->ts_ns > second->ts_ns;
}

static bool code_after(const void *user, uint32_t a, uint32_t b) {
  const host_order *by = user;
  const pd_code_row *first = (const pd_code_row *)by->rows + a, *second = (const pd_code_row *)by->rows + b;
  if (first->thread != second->thread) return by->thread_rows[first->thread] > by->thread_rows[second->thread];
  return first->ts_ns > second->ts_ns;
}

static uint32_t *order_of(const intake_build *self, const row_array *rows, sort_after *after) {
  const host_order by = {rows->data, self->thread_rows};
  uint32_t *order = trace_scratch_alloc(rows->count, 2 * sizeof *order);
  for (uint64_t i = 0; order && i < rows->count; i++) order[i] = (uint32_t)i;
  if (order && rows->count) sort_runs(order, order + rows->count, rows->count, after, &by);
  return order;
}

/* One that begins before the end of the one before it is cut to it. */
static void put_states(intake_build *self, const uint32_t *order) {
  pd_state_row *rows = (pd_state_row *)self->trace->states.data;
  uint64_t kept = 0;
  for (uint64_t i = 0; i < self->from->states.count; i++) {
    pd_state_row row = ((const pd_state_row *)self->from->states.data)[order[i]];
    row.thread = self->thread_rows[row.thread];
    row.start_ns -= self->base;
    row.end_ns -= self->base;
    if (kept && rows[kept - 1].thread == row.thread && row.start_ns < rows[kept - 1].end_ns)
      row.start_ns = rows[kept - 1].end_ns;
    if (row.end_ns > row.start_ns) rows[kept++] = row;
  }
  self->trace->states.count = kept;
}

static void put_children(intake_build *self, const uint32_t *order) {
  pd_child_row *rows = (pd_child_row *)self->trace->children.data;
  for (uint64_t i = 0; i < self->from->children.count; i++) {
    rows[i] = ((const pd_child_row *)self->from->children.data)[order[i]];
    rows[i].ts_ns -= self->base;
  }
}

static void put_code(intake_build *self, const uint32_t *order) {
  pd_code_row *rows = (pd_code_row *)self->trace->code.data;
  for (uint64_t i = 0; i < self->from->code.count; i++) {
    rows[i] = ((const pd_code_row *)self->from->code.data)[order[i]];
    rows[i].thread = self->thread_rows[rows[i].thread];
    rows[i].ts_ns -= self->base;
  }
}

pd_status intake_build_host(intake_build *self) {
  const intake *from = self->from;
  const struct {
    const row_array *rows;
    pd_array *to;
    size_t row_bytes;
    sort_after *after;
    void (*put)(intake_build *, const uint32_t *);
  } all[] = {{&from->states, &self->trace->states, sizeof(pd_state_row), state_after, put_states},
             {&from->children, &self->trace->children, sizeof(pd_child_row), child_after, put_children},
             {&from->code, &self->trace->code, sizeof(pd_code_row), code_after, put_code}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    const pd_status status = trace_array(self->owned, all[i].to, all[i].rows->count, all[i].row_bytes);
    uint32_t *order = status == PD_OK ? order_of(self, all[i].rows, all[i].after) : NULL;
    if (!order) return PD_NO_MEMORY;
    if (all[i].rows->count) all[i].put(self, order);
    free(order);
  }
  return PD_OK;
}
