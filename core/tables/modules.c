/*
 * Time per module. A call of a module is the range that enters it and the backward work of what that call did, which
 * runs later, outside of every module's range and maybe on another thread: so a module has at least the time of those
 * that it holds.
 */
#include "span_groups.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 64 };

typedef struct module_call {
  uint32_t range; /* that enters it; ascending */
  uint32_t module;
  uint32_t outer; /* the call that holds it, or PD_NONE */
  uint32_t next;  /* call of the same module, or PD_NONE */
  int64_t cpu_ns, gpu_ns;
} module_call;

typedef struct module_calls {
  module_call *rows;
  /* By the module's string id, PD_NONE: none. Its first call and its last so far, the one that the thread that is
   * looked at was last in, and one that was entered before the window. */
  uint32_t *first, *last, *current, *earlier;
  uint32_t count, room;
} module_calls;

/* A module of another program is a range of its own, which its backward names, too. */
static bool enters(const pd_range *range) {
  return range->kind == PD_RANGE_MODULE || (range->kind == PD_RANGE_USER && range->module && !range->backward);
}

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
    if (!enters(facts_range(facts, at))) continue;
    const uint32_t call = call_of_range(self, (uint32_t)at);
    if (call != PD_NONE) return call;
  }
  return PD_NONE;
}

static uint32_t call_new(module_calls *self, uint32_t range, uint32_t module, uint32_t outer) {
  if (!PD_ARRAY_FIT(self->rows, self->room, self->count + 1)) return PD_NONE;
  self->rows[self->count] = (module_call){.range = range, .module = module, .outer = outer, .next = PD_NONE};
  return self->count++;
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

static bool enter_all(module_calls *self, const trace_facts *facts) {
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const uint32_t module = facts_range(facts, i)->module;
    if (!module || !enters(facts_range(facts, i))) continue;
    const uint32_t outer = call_around(self, facts, i);
    if (is_within(self, outer, module)) continue;
    const uint32_t call = call_new(self, (uint32_t)i, module, outer);
    if (call == PD_NONE) return false;
    *(self->first[module] == PD_NONE ? &self->first[module] : &self->rows[self->last[module]].next) = call;
    self->last[module] = call;
    add_time(self, call, facts, i, false);
  }
  return true;
}

/* The last call of the module that began before the range did. */
static uint32_t call_before(module_calls *self, const trace_facts *facts, uint64_t i) {
  const pd_range *range = facts_range(facts, i);
  uint32_t *at = &self->current[range->module];
  for (uint32_t next = *at == PD_NONE ? self->first[range->module] : self->rows[*at].next;
       next != PD_NONE && facts_range(facts, self->rows[next].range)->start_ns <= range->start_ns;
       next = self->rows[next].next)
    *at = next;
  if (*at != PD_NONE) return *at;
  uint32_t *earlier = &self->earlier[range->module];
  if (*earlier == PD_NONE) *earlier = call_new(self, (uint32_t)i, range->module, PD_NONE);
  return *earlier;
}

static bool collect(module_calls *self, const trace_facts *facts) {
  const uint64_t strings = facts->trace->strings.count;
  uint32_t thread = PD_NONE;
  self->first = malloc((strings + 1) * 4 * sizeof *self->first);
  self->rows = calloc(FIRST_ROOM, sizeof *self->rows);
  if (!self->first || !self->rows) return false;
  memset(self->first, 0xff, (strings + 1) * 4 * sizeof *self->first); /* PD_NONE */
  self->last = self->first + strings;
  self->current = self->last + strings;
  self->earlier = self->current + strings;
  self->room = FIRST_ROOM;
  if (!enter_all(self, facts)) return false;
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    /* What lies in a range that names a module is part of that range's time. */
    if (!range->module || enters(range) || (range->parent < i && facts_range(facts, range->parent)->module)) continue;
    if (range->thread != thread) memset(self->current, 0xff, strings * sizeof *self->current);
    thread = range->thread;
    const uint32_t call = call_before(self, facts, i);
    if (call == PD_NONE) return false;
    add_time(self, call, facts, i, true);
  }
  return true;
}

bool modules_are_in(const trace_facts *facts) {
  for (uint64_t i = 0; i < facts->range_count; i++)
    if (facts_range(facts, i)->module) return true;
  return false;
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
  free(calls.first);
  span_groups_free(&groups);
  return done;
}
