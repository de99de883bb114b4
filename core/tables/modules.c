/*
 * Time per module. A call of a module is the range that enters it and the backward work of what that call did, which
 * runs later and outside of every module's range: so a module has at least the time of those that it holds.
 */
#include "span_groups.h"

#include <pdhost/array.h>

#include <stdlib.h>

enum { FIRST_ROOM = 64 };

typedef struct module_call {
  uint32_t range; /* that enters it; ascending */
  uint32_t module;
  uint32_t outer; /* the call that holds it, or PD_NONE */
  uint32_t reserved;
  int64_t cpu_ns, gpu_ns;
} module_call;

typedef struct module_calls {
  module_call *rows;
  uint32_t *latest; /* by string id: the module's last call so far, or PD_NONE */
  uint32_t count, room;
} module_calls;

static uint32_t call_of_range(const module_calls *self, uint32_t range) {
  uint32_t low = 0, high = self->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    if (self->rows[middle].range < range)
      low = middle + 1;
    else
      high = middle;
  }
  return low < self->count && self->rows[low].range == range ? low : PD_NONE;
}

/* The call that the range `i` lies in, or PD_NONE. */
static uint32_t call_around(const module_calls *self, const trace_facts *facts, uint64_t i) {
  for (uint64_t at = i; facts_range(facts, at)->parent < at;) {
    at = facts_range(facts, at)->parent;
    if (facts_range(facts, at)->kind != PD_RANGE_MODULE) continue;
    const uint32_t call = call_of_range(self, (uint32_t)at);
    if (call != PD_NONE) return call;
  }
  return PD_NONE;
}

static uint32_t call_new(module_calls *self, uint32_t range, uint32_t module, uint32_t outer) {
  if (!PD_ARRAY_FIT(self->rows, self->room, self->count + 1)) return PD_NONE;
  self->rows[self->count] = (module_call){.range = range, .module = module, .outer = outer};
  return self->latest[module] = self->count++;
}

static bool is_within(const module_calls *self, uint32_t call, uint32_t module) {
  while (call != PD_NONE && self->rows[call].module != module) call = self->rows[call].outer;
  return call != PD_NONE;
}

/* Adds the range's time to the call and, where `to_holders`, to those that hold it. */
static void add_time(module_calls *self, uint32_t call, const trace_facts *facts, uint64_t i, bool to_holders) {
  const pd_range *range = facts_range(facts, i);
  const int64_t span = facts_span(range->start_ns, range->end_ns);
  do {
    self->rows[call].cpu_ns += span;
    self->rows[call].gpu_ns += facts->device_total_ns[i];
    call = self->rows[call].outer;
  } while (to_holders && call != PD_NONE);
}

static bool collect(module_calls *self, const trace_facts *facts) {
  const uint64_t strings = facts->trace->strings.count;
  self->latest = malloc((strings + 1) * sizeof *self->latest);
  self->rows = calloc(FIRST_ROOM, sizeof *self->rows);
  if (!self->latest || !self->rows) return false;
  self->room = FIRST_ROOM;
  for (uint64_t i = 0; i < strings; i++) self->latest[i] = PD_NONE;
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    const bool enters = range->kind == PD_RANGE_MODULE;
    uint32_t call;
    if (!range->module) continue;
    if (enters) {
      const uint32_t outer = call_around(self, facts, i);
      if (is_within(self, outer, range->module)) continue;
      call = call_new(self, (uint32_t)i, range->module, outer);
    } else {
      /* What lies in a range that names a module is part of that range's time. */
      if (range->parent < i && facts_range(facts, range->parent)->module) continue;
      call = self->latest[range->module];
      /* Entered before the window. */
      if (call == PD_NONE) call = call_new(self, (uint32_t)i, range->module, PD_NONE);
    }
    if (call == PD_NONE) return false;
    add_time(self, call, facts, i, !enters);
  }
  return true;
}

const pd_table *modules_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  const bool device = facts->trace->profile == PD_PROFILE_FULL;
  module_calls calls = {0};
  span_groups groups = {0};
  uint32_t *order = NULL;
  const pd_table *done = NULL;
  table_build table;
  if (!collect(&calls, facts)) goto out;
  for (uint32_t i = 0; i < calls.count; i++) {
    const module_call *call = &calls.rows[i];
    span_group *group = span_groups_at(&groups, PD_NONE, PD_NONE, 0, call->module);
    if (!group) goto out;
    span_stats_add(&group->stats, call->cpu_ns, call->gpu_ns);
  }
  order = span_order(&groups, work->request->sorted_by);
  if (!order) goto out;
  table_begin(
      &table, work->arena, work->is_cuda, "modules", "Modules",
      "A call is a forward pass with its backward work; a module's time holds that of the modules in it. Ratios "
      "are of the time of all steps on the host and of all device time.");
  if (!device) table_without_device(&table, facts->trace->profile_note);
  TABLE_COLUMNS(&table, M_module, SPAN_COLUMNS);
  for (uint32_t i = 0; i < groups.keys.count; i++) {
    const span_group *group = &groups.rows[order[i]];
    table_row(&table, 0);
    table_string(&table, M_module, facts_text(facts, group->name));
    span_cells(&table, &group->stats, facts->steps_ns, facts->device_ns, true, device);
  }
  done = table_done(&table);
out:
  if (!done) work->arena->failed = true;
  free(order);
  free(calls.rows);
  free(calls.latest);
  span_groups_free(&groups);
  return done;
}
