/* See ledger_profiler.h. */
#include "ledger_profiler.h"

#include "base/stats.h"

#include <stdlib.h>

enum { LOOP_THREAD = 0 };

/* What all steps together are longer than without the library; 0 where that is not known or nothing. */
static bool longer_by(const trace_facts *facts, int64_t *out) {
  const pd_trace *trace = facts->trace;
  *out = 0;
  if (!trace->device || !trace->device->is_cuda || !facts->step_count) return true;
  if (trace->twin.rounds) {
    if (trace->twin.low_ns > 0) *out = trace->twin.added_ns * (int64_t)facts->step_count;
    return true;
  }
  if (trace->unprofiled_step_ns <= 0) return true;
  double *times = malloc(facts->step_count * sizeof *times);
  if (!times) return false;
  for (uint64_t s = 0; s < facts->step_count; s++) {
    const pd_trace_step *step = facts_step(facts, s);
    times[s] = trace->sync_timing ? facts_fed_step_ns(facts, s) : (double)(step->end_ns - step->start_ns);
  }
  const pd_spread spread = stats_spread(times, facts->step_count);
  const double more = (trace->sync_timing ? spread.median : spread.mean) - (double)trace->unprofiled_step_ns;
  free(times);
  if (more > 0) *out = (int64_t)(more * (double)facts->step_count);
  return true;
}

/* A loop's call, and the pieces of idle time that end last in it. */
typedef struct idle_call {
  int64_t idle_ns;
  size_t last; /* piece that begins before its end, the latest */
  int64_t start_ns, end_ns;
} idle_call;

static idle_call *idle_calls(const trace_facts *facts, const intervals *idle, uint64_t *count) {
  idle_call *calls = malloc((facts->call_count + 1) * sizeof *calls);
  size_t at = 0;
  *count = 0;
  for (uint64_t i = 0; calls && i < facts->call_count; i++) {
    const pd_call *call = facts_call(facts, i);
    if (call->thread != LOOP_THREAD) continue;
    while (at < idle->count && idle->rows[at].end <= call->start_ns) at++;
    idle_call one = {.start_ns = call->start_ns, .end_ns = call->end_ns};
    for (size_t k = at; k < idle->count && idle->rows[k].start < call->end_ns; k++) {
      const interval *piece = &idle->rows[k];
      one.last = k;
      one.idle_ns += (piece->end < call->end_ns ? piece->end : call->end_ns) -
                     (piece->start > call->start_ns ? piece->start : call->start_ns);
    }
    if (one.idle_ns > 0) calls[(*count)++] = one;
  }
  return calls;
}

/* The most per call so that all together are `wanted` at most. */
static int64_t share_of_each(const idle_call *calls, uint64_t count, int64_t wanted) {
  int64_t low = 0, high = LEDGER_PROFILER_CALL_NS;
  while (low < high) {
    const int64_t middle = high - (high - low) / 2;
    int64_t sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += calls[i].idle_ns < middle ? calls[i].idle_ns : middle;
    if (sum <= wanted)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

static bool take_last(const idle_call *call, const intervals *idle, int64_t left, intervals *out) {
  bool ok = true;
  for (size_t k = call->last + 1; ok && left > 0 && k-- > 0 && idle->rows[k].end > call->start_ns;) {
    const int64_t end = idle->rows[k].end < call->end_ns ? idle->rows[k].end : call->end_ns;
    int64_t start = idle->rows[k].start > call->start_ns ? idle->rows[k].start : call->start_ns;
    if (end - start > left) start = end - left;
    left -= end - start;
    ok = intervals_add(out, start, end);
  }
  return ok;
}

bool ledger_profiler_calls(const trace_facts *facts, const intervals *idle, intervals *out) {
  int64_t wanted;
  uint64_t count;
  if (!longer_by(facts, &wanted)) return false;
  if (!wanted) return true;
  idle_call *calls = idle_calls(facts, idle, &count);
  bool ok = calls != NULL;
  const int64_t each = ok ? share_of_each(calls, count, wanted) : 0;
  for (uint64_t i = 0; ok && i < count; i++) ok = take_last(&calls[i], idle, each, out);
  free(calls);
  return ok;
}
