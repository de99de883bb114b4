/* See step_finder.h. */
#include "step_finder.h"

#include "groups.h"
#include "launch_period.h"
#include "trace/trace_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the launches ---- */

static bool is_optimizer(const char *name) {
  static const char *const words[] = {"multi_tensor_apply", "adam", "Adam", "sgd", "SGD", "FusedOptimizer", "lamb_"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strstr(name, words[i])) return true;
  return false;
}

typedef struct finding {
  const pd_trace *trace;
  launch_sequence launches;
  bool *optimizer; /* by string id */
} finding;

static bool from_host(const pd_device_row *row) {
  if (row->detail.kind != PD_ACTIVITY_MEMCPY) return false;
  const pd_memory_kind from = row->detail.u.copy.from;
  return from == PD_MEMORY_PAGEABLE || from == PD_MEMORY_PINNED;
}

/* Kernels as symbols, in launch order, and copies from the host between them. */
static pd_status take_launches(finding *self) {
  const pd_trace *trace = self->trace;
  const uint32_t *by_call = trace->activities_by_call.data;
  launch_sequence *out = &self->launches;
  key_groups symbols = {.count = 0};
  out->launches = scratch_alloc(trace->activities.count, sizeof *out->launches);
  out->copies = scratch_alloc(trace->activities.count, sizeof *out->copies);
  self->optimizer = calloc(trace->strings.count + 1, sizeof *self->optimizer);
  pd_status status = out->launches && out->copies && self->optimizer ? PD_OK : PD_NO_MEMORY;
  for (uint64_t i = 0; status == PD_OK && i < trace->strings.count; i++)
    self->optimizer[i] = is_optimizer(PD_AT(pd_string, &trace->strings, i)->text);
  for (uint64_t i = 0; status == PD_OK && i < trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &trace->calls, i);
    for (uint32_t k = 0; k < call->activity_count; k++) {
      const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, by_call[call->activity_first + k]);
      if (from_host(row)) {
        out->copies[out->copy_count++] = (launch_copy){row->detail.bytes, out->count, (uint32_t)i};
      } else if (row->detail.kind == PD_ACTIVITY_KERNEL) {
        const uint32_t *grid = row->detail.u.kernel.grid;
        const uint64_t blocks = (uint64_t)grid[0] << 32 ^ (uint64_t)grid[1] << 16 ^ grid[2];
        const uint32_t symbol = groups_index(&symbols, row->name, blocks);
        if (symbol == UINT32_MAX) status = PD_NO_MEMORY;
        out->launches[out->count++] = (launch_at){symbol, (uint32_t)i, self->optimizer[row->name]};
      }
    }
  }
  out->symbols = symbols.count;
  groups_free(&symbols);
  return status;
}

/* ---- the bounds ---- */

static const pd_call *call_at(const pd_trace *trace, uint64_t i) { return PD_AT(pd_call, &trace->calls, i); }

/* Waits of the loop for what it has launched, and what it reads back, end a step; a copy to the device or a kernel
 * begins the next one. */
static bool ends_step(const pd_trace *trace, const pd_call *call) {
  if (call->api == PD_API_SYNC) return true;
  if (!call->activity_count || call->api != PD_API_MEMCPY) return false;
  const uint32_t first = ((const uint32_t *)trace->activities_by_call.data)[call->activity_first];
  return !from_host(PD_AT(pd_device_row, &trace->activities, first));
}

/* The first wait for the loader that begins in [from, to); `to` where there is none. */
static int64_t first_wait(const pd_trace *trace, int64_t from, int64_t to) {
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (range->kind == PD_RANGE_DATALOADER && range->start_ns >= from && range->start_ns < to) return range->start_ns;
  }
  return to;
}

/* When the step before kernel `index` is over: behind the launch before it, and the waits that follow that. */
static int64_t bound_before(const finding *self, uint64_t index) {
  const pd_trace *trace = self->trace;
  const launch_sequence *launches = &self->launches;
  const uint64_t last = launches->launches[index - 1].call;
  const uint64_t next = index < launches->count ? launches->launches[index].call : trace->calls.count;
  const uint32_t thread = call_at(trace, last)->thread;
  int64_t bound = call_at(trace, last)->end_ns;
  const int64_t limit = next < trace->calls.count ? call_at(trace, next)->start_ns : trace->end_ns;
  const int64_t wait = first_wait(trace, bound, limit);
  for (uint64_t i = last + 1; i < next; i++) {
    const pd_call *call = call_at(trace, i);
    if (call->start_ns >= wait) break;
    if (call->activity_count && !ends_step(trace, call)) break;
    if (ends_step(trace, call) && (call->thread == thread || call->thread == 0) && call->end_ns > bound)
      bound = call->end_ns;
  }
  return bound < limit ? bound : limit;
}

/* When anything was done first. */
static int64_t first_start(const pd_trace *trace) {
  int64_t first = trace->calls.count ? call_at(trace, 0)->start_ns : 0;
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (range->kind != PD_RANGE_STEP && range->start_ns < first) first = range->start_ns;
  }
  return first;
}

static pd_status make_bounds(const finding *self, const launch_period *period, found_steps *out) {
  const uint64_t count = (self->launches.count - period->phase) / period->length;
  out->bounds = scratch_alloc(count, sizeof *out->bounds);
  if (!out->bounds) return PD_NO_MEMORY;
  int64_t from = period->phase ? bound_before(self, period->phase) : first_start(self->trace);
  for (uint64_t i = 0; i < count; i++) {
    const int64_t to = bound_before(self, period->phase + (i + 1) * period->length);
    out->bounds[i] = (step_bounds){from, to > from ? to : from + 1, i};
    from = out->bounds[i].end_ns;
  }
  out->count = count;
  out->period = period->length;
  out->match = period->match;
  return PD_OK;
}

/* ---- both ways ---- */

pd_status step_finder_find(const pd_trace *trace, found_steps *out) {
  finding self = {.trace = trace};
  launch_period period;
  *out = (found_steps){.count = 0};
  const double lost = (double)trace->losses[PD_LOSS_UNMATCHED_ACTIVITY];
  pd_status status = PD_OK;
  if (!trace->calls.count || !trace->activities.count) {
    snprintf(out->words, sizeof out->words, "no loop found: launches and device records are both needed for it");
    return PD_OK;
  }
  if (lost > STEP_FINDER_UNMATCHED * (double)trace->activities.count) {
    snprintf(out->words, sizeof out->words, "no loop found: %.1f %% of the device records have no launch",
             100 * lost / (double)trace->activities.count);
    return PD_OK;
  }
  status = take_launches(&self);
  if (status == PD_OK) status = launch_period_find(&self.launches, &period);
  if (status == PD_OK && period.length) {
    status = make_bounds(&self, &period, out);
    snprintf(out->words, sizeof out->words,
             "%llu steps found by their launches: %llu kernels repeat, %.3f of them alike",
             (unsigned long long)out->count, (unsigned long long)period.length, period.match);
  } else if (status == PD_OK) {
    snprintf(out->words, sizeof out->words, "no loop found: %s", period.why);
  }
  free(self.launches.launches);
  free(self.launches.copies);
  free(self.optimizer);
  return status;
}

static bool is_called(const char *name, const char *wanted) {
  const size_t length = strlen(wanted);
  return strncmp(name, wanted, length) == 0 && (name[length] == '\0' || name[length] == '#');
}

static bool is_within_one(const pd_trace *trace, const pd_range *range, const bool *wanted) {
  for (uint32_t at = range->parent; at != PD_NONE; at = PD_AT(pd_range, &trace->ranges, at)->parent)
    if (wanted[PD_AT(pd_range, &trace->ranges, at)->name]) return true;
  return false;
}

/* Ranges stand by thread: the longest run of one thread is taken. */
static void take_named(const pd_trace *trace, const bool *wanted, found_steps *out) {
  uint64_t best = 0, best_count = 0, count = 0, first = 0;
  for (uint64_t i = 0; i <= trace->ranges.count; i++) {
    const pd_range *range = i < trace->ranges.count ? PD_AT(pd_range, &trace->ranges, i) : NULL;
    const bool new_thread = !range || (i && range->thread != PD_AT(pd_range, &trace->ranges, i - 1)->thread);
    if (new_thread) {
      if (count > best_count) best = first, best_count = count;
      first = i;
      count = 0;
    }
    count += range && wanted[range->name] && !is_within_one(trace, range, wanted);
  }
  for (uint64_t i = best; out->count < best_count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (!wanted[range->name] || is_within_one(trace, range, wanted)) continue;
    if (out->count) out->bounds[out->count - 1].end_ns = range->start_ns;
    out->bounds[out->count] = (step_bounds){range->start_ns, range->end_ns, out->count};
    out->count++;
  }
}

pd_status step_finder_named(const pd_trace *trace, const char *name, found_steps *out) {
  *out = (found_steps){.count = 0};
  bool *wanted = calloc(trace->strings.count + 1, sizeof *wanted);
  out->bounds = scratch_alloc(trace->ranges.count, sizeof *out->bounds);
  if (!wanted || !out->bounds) {
    free(wanted);
    return PD_NO_MEMORY;
  }
  for (uint64_t i = 0; i < trace->strings.count; i++)
    wanted[i] = is_called(PD_AT(pd_string, &trace->strings, i)->text, name);
  take_named(trace, wanted, out);
  snprintf(out->words, sizeof out->words, "%llu ranges are called %.100s", (unsigned long long)out->count, name);
  free(wanted);
  return PD_OK;
}

void found_steps_free(found_steps *self) {
  free(self->bounds);
  *self = (found_steps){.count = 0};
}
