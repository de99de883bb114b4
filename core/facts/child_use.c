/* See child_use.h. */
#include "child_use.h"

#include <pdhost/array.h>

#include <math.h>
#include <stdlib.h>

static double per_ns(int64_t from, int64_t to, int64_t ns) {
  return from < 0 || to < from ? (double)NAN : (double)(to - from) / (double)ns;
}

/* Rows [first, last] are of one child. */
static bool add_child(const pd_trace *trace, uint64_t first, uint64_t last, child_uses *out) {
  const pd_child_row *from = PD_AT(pd_child_row, &trace->children, first);
  const pd_child_row *to = PD_AT(pd_child_row, &trace->children, last);
  const int64_t ns = to->ts_ns - from->ts_ns;
  if (ns <= 0) return true;
  if (!PD_ARRAY_FIT(out->rows, out->room, out->count + 1)) return false;
  out->rows[out->count++] = (child_use){.pid = to->pid,
                                        .name = to->name,
                                        .processors = per_ns(from->cpu_ns, to->cpu_ns, ns),
                                        .disk_per_s = 1e9 * per_ns(from->disk_bytes, to->disk_bytes, ns),
                                        .read_per_s = 1e9 * per_ns(from->read_bytes, to->read_bytes, ns)};
  return true;
}

bool child_uses_open(const trace_facts *facts, child_uses *out) {
  const pd_trace *trace = facts->trace;
  bool ok = true;
  *out = (child_uses){0};
  if (!facts->step_count) return true;
  const int64_t begin = facts_step(facts, 0)->start_ns, end = facts_step(facts, facts->step_count - 1)->end_ns;
  for (uint64_t i = 0; ok && i < trace->children.count;) {
    const uint32_t pid = PD_AT(pd_child_row, &trace->children, i)->pid;
    uint64_t first = UINT64_MAX, last = 0;
    for (; i < trace->children.count && PD_AT(pd_child_row, &trace->children, i)->pid == pid; i++) {
      const int64_t ns = PD_AT(pd_child_row, &trace->children, i)->ts_ns;
      if (ns < begin || ns > end) continue;
      if (first == UINT64_MAX) first = i;
      last = i;
    }
    if (first != UINT64_MAX) ok = add_child(trace, first, last, out);
  }
  return ok;
}

void child_uses_free(child_uses *self) {
  free(self->rows);
  *self = (child_uses){0};
}
