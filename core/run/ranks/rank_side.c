/* See rank_side.h. */
#include "rank_side.h"

#include "base/hash.h"
#include "facts/facts.h"
#include "ledger/gains.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* Names are few: each is kept once. */
static const char *keep_name(rank_side *self, const char *name) {
  for (uint32_t i = self->collective_count; i > 0 && i + 16 > self->collective_count; i--)
    if (strcmp(self->collectives[i - 1].name, name) == 0) return self->collectives[i - 1].name;
  return arena_text(&self->texts, name, strlen(name));
}

/* The message of a collective, from the shape of the operation that launched it. */
static uint64_t message_bytes(const trace_facts *facts, const pd_device_row *row) {
  const pd_trace *trace = facts->trace;
  if (row->detail.bytes) return row->detail.bytes;
  if (row->range == PD_NONE) return 0;
  const pd_range *range = PD_AT(pd_range, &trace->ranges, row->range);
  const pd_shape *shape = range->shape_count ? PD_AT(pd_shape, &trace->shapes, range->shape_first) : NULL;
  if (!shape || strncmp(facts_text(facts, range->name), "c10d::", 6) != 0) return 0;
  uint64_t bytes = shape->dtype == PD_F32 || shape->dtype == PD_I32    ? 4
                   : shape->dtype == PD_F16 || shape->dtype == PD_BF16 ? 2
                                                                       : 0;
  for (uint32_t i = 0; i < shape->rank; i++) bytes *= (uint64_t)shape->dims[i];
  return bytes;
}

static bool add_collective(rank_side *self, const trace_facts *facts, const pd_device_row *row) {
  if (!PD_ARRAY_FIT(self->collectives, self->collective_room, self->collective_count + 1)) return false;
  const char *name = keep_name(self, facts_text(facts, row->name));
  if (!name) return false;
  const pd_trace_step *step = facts_step(facts, row->step);
  self->collectives[self->collective_count++] =
      (rank_collective){.step = {.number = step->number},
                        .step_start_ns = facts->trace->base_ns + step->start_ns,
                        .name = name,
                        .bytes = message_bytes(facts, row),
                        .stream = row->detail.stream,
                        .start_ns = facts->trace->base_ns + row->start_ns,
                        .end_ns = facts->trace->base_ns + row->end_ns};
  return true;
}

/* Adds `more` steps to the average of a step over those that there are. */
static void average(double *mean, uint32_t steps, uint32_t more, int64_t sum_ns) {
  *mean = (*mean * steps + (double)sum_ns) / (steps + more);
}

static bool add_work(rank_side *self, const trace_facts *facts) {
  intervals compute = {0}, comm = {0}, both = {0}, all = {0};
  bool ok = true;
  for (uint64_t i = 0; i < facts->activity_count && ok; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (row->step >= facts->step_count) continue;
    const bool is_comm = facts_is_communication(facts, row->name);
    const int64_t base = facts->trace->base_ns;
    ok = intervals_add(is_comm ? &comm : &compute, base + row->start_ns, base + row->end_ns) &&
         (!is_comm || add_collective(self, facts, row));
  }
  ok = ok && intervals_merge(&compute) && intervals_merge(&comm) && intervals_intersect(&compute, &comm, &both);
  if (ok) {
    const uint32_t more = (uint32_t)facts->step_count;
    average(&self->compute_ns, self->step_count, more, intervals_length(&compute));
    average(&self->comm_ns, self->step_count, more, intervals_length(&comm));
    average(&self->overlap_ns, self->step_count, more, intervals_length(&both));
    ok = intervals_union(&self->compute, &compute, &all);
  }
  if (ok) {
    intervals_free(&self->compute);
    self->compute = all;
    all = (intervals){0};
  }
  intervals_free(&compute);
  intervals_free(&comm);
  intervals_free(&both);
  intervals_free(&all);
  return ok;
}

/* A call that only launches is this long where the device has no room for more launches. */
#define LONG_CALL_NS 100000

static bool add_blocked(rank_side *self, const trace_facts *facts) {
  for (uint64_t i = 0; i < facts->call_count; i++) {
    const pd_call *call = facts_call(facts, i);
    const bool waits = call->api == PD_API_SYNC || call->api == PD_API_MEMCPY;
    if (!waits && call->end_ns - call->start_ns < LONG_CALL_NS) continue;
    if (!intervals_add(&self->blocked, facts->trace->base_ns + call->start_ns, facts->trace->base_ns + call->end_ns))
      return false;
  }
  return intervals_merge(&self->blocked);
}

static uint64_t row_work(const trace_facts *facts, const pd_device_row *row) {
  const char *name = facts_text(facts, row->name);
  uint64_t parts[8] = {hash_bytes(name, strlen(name)), row->detail.bytes};
  for (uint32_t i = 0; i < 3 && row->detail.kind == PD_ACTIVITY_KERNEL; i++) {
    parts[2 + i] = row->detail.u.kernel.grid[i];
    parts[5 + i] = row->detail.u.kernel.block[i];
  }
  return hash_bytes(parts, sizeof parts);
}

static uint64_t range_work(const trace_facts *facts, const pd_range *range) {
  const char *name = facts_text(facts, range->name);
  uint64_t hash = hash_bytes(name, strlen(name));
  for (uint32_t i = 0; i < range->shape_count; i++) {
    const pd_shape *shape = PD_AT(pd_shape, &facts->trace->shapes, range->shape_first + i);
    const uint64_t parts[] = {hash, shape->dtype, hash_bytes(shape->dims, shape->rank * sizeof *shape->dims)};
    hash = hash_bytes(parts, sizeof parts);
  }
  return hash;
}

/* A sum, since the order in which threads launch may differ between ranks. */
static void add_device_work(rank_side *self, const trace_facts *facts) {
  uint64_t sum = 0;
  bool has_sizes = false;
  for (uint64_t i = 0; i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    if (row->step >= facts->step_count || facts_is_communication(facts, row->name)) continue;
    sum += row_work(facts, row);
    has_sizes |= row->detail.kind == PD_ACTIVITY_KERNEL && row->detail.u.kernel.grid[0] > 0;
  }
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->step >= facts->step_count || !range->shape_count || facts_is_communication(facts, range->name)) continue;
    sum += range_work(facts, range);
    has_sizes = true;
  }
  if (has_sizes) self->work += sum;
}

static void add_causes(rank_side *self, const gains *of) {
  self->has_causes = of->is_judged;
  self->added_ns = of->recorded_ns - of->step_ns;
  self->added_host_ns = of->launch_cost_ns;
  for (uint32_t c = 0; c < VERDICT_none && of->is_judged; c++) self->idle_ns[c] = of->causes[c].idle * of->recorded_ns;
}

static bool add_owners(rank_side *self, const trace_facts *facts, const gains *found) {
  ledger of;
  if (!ledger_open(facts, found, &of)) return false;
  for (uint64_t i = 0; i < facts->step_count * LEDGER_OWNER_COUNT; i++)
    self->owners_ns[i % LEDGER_OWNER_COUNT] += of.rows[i];
  const int64_t base = facts->trace->base_ns;
  bool ok = true;
  for (size_t i = 0; ok && i < of.communication.count; i++)
    ok = intervals_add(&self->exposed, base + of.communication.rows[i].start, base + of.communication.rows[i].end);
  ledger_free(&of);
  return ok && intervals_merge(&self->exposed);
}

bool rank_side_add(rank_side *self, const pd_trace *trace) {
  self->is_other = trace->device && !trace->device->is_cuda;
  self->is_server |= (trace->facts & PD_FACT_SERVING) != 0;
  trace_facts *facts = facts_open(trace);
  gains found = {0};
  bool ok = facts && facts->step_count > 0
                ? gains_find(facts, &found) && add_work(self, facts) && rank_parts_add(&self->parts, facts) &&
                      add_owners(self, facts, &found) && add_blocked(self, facts)
                : facts != NULL;
  if (ok) add_device_work(self, facts);
  if (ok && found.steps) add_causes(self, &found);
  gains_free(&found);
  for (uint64_t s = 0; ok && s < facts->step_count; s++) {
    ok = PD_ARRAY_FIT(self->steps, self->step_room, self->step_count + 1);
    if (!ok) break;
    const pd_trace_step *step = facts_step(facts, s);
    self->steps[self->step_count++] = (rank_step){
        {.number = step->number}, trace->base_ns + step->start_ns, (double)facts_span(step->start_ns, step->end_ns)};
  }
  facts_close(facts);
  return ok;
}

uint32_t rank_collective_members(const char *name) {
  const char *at = name, *last = NULL;
  while ((at = strstr(at, " on "))) last = at += strlen(" on ");
  char *end;
  const unsigned long members = last ? strtoul(last, &end, 10) : 0;
  return members && strncmp(end, " of ", 4) == 0 ? (uint32_t)members : 0;
}

int rank_step_compare(rank_step_key a, rank_step_key b) {
  if (a.number != b.number) return (a.number > b.number) - (a.number < b.number);
  if (a.nth != b.nth) return (a.nth > b.nth) - (a.nth < b.nth);
  return (a.of > b.of) - (a.of < b.of);
}

int rank_collective_compare(const rank_collective *a, const rank_collective *b) {
  const int steps = rank_step_compare(a->step, b->step);
  if (steps) return steps;
  const int names = strcmp(a->name, b->name);
  if (names) return names;
  if (a->stream != b->stream) return (a->stream > b->stream) - (a->stream < b->stream);
  return (a->place > b->place) - (a->place < b->place);
}

static int by_start(const void *a, const void *b) {
  const rank_collective *x = a, *y = b;
  const int kinds = rank_collective_compare(x, y);
  return kinds ? kinds : (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static int by_number(const void *a, const void *b) {
  const rank_step *x = a, *y = b;
  if (x->key.number != y->key.number) return (x->key.number > y->key.number) - (x->key.number < y->key.number);
  return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static void finish_steps(rank_side *self) {
  if (!self->step_count) return;
  qsort(self->steps, self->step_count, sizeof *self->steps, by_number);
  for (uint32_t first = 0, end; first < self->step_count; first = end) {
    for (end = first; end < self->step_count && self->steps[end].key.number == self->steps[first].key.number; end++)
      self->steps[end].key.nth = end - first;
    for (uint32_t i = first; i < end; i++) self->steps[i].key.of = end - first;
  }
  for (uint32_t i = 0; i < self->collective_count; i++) {
    rank_collective *at = &self->collectives[i];
    const rank_step wanted = {.key = at->step, .start_ns = at->step_start_ns};
    const rank_step *step = bsearch(&wanted, self->steps, self->step_count, sizeof *self->steps, by_number);
    if (step) at->step = step->key;
  }
}

void rank_side_finish(rank_side *self) {
  finish_steps(self);
  if (self->collective_count) qsort(self->collectives, self->collective_count, sizeof *self->collectives, by_start);
  for (uint32_t i = 1; i < self->collective_count; i++) {
    const rank_collective *before = &self->collectives[i - 1];
    rank_collective *at = &self->collectives[i];
    const bool same = !rank_step_compare(at->step, before->step) && at->stream == before->stream &&
                      strcmp(at->name, before->name) == 0;
    at->place = same ? before->place + 1 : 0;
  }
}

void rank_side_free(rank_side *self) {
  free(self->steps);
  free(self->collectives);
  intervals_free(&self->compute);
  intervals_free(&self->blocked);
  intervals_free(&self->exposed);
  arena_free(&self->texts);
}
