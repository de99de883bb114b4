/* See launch_sequence.h. */
#include "launch_sequence.h"

#include <stdlib.h>

typedef struct walk {
  const pd_trace *trace;
  launch_sequence *out;
  sha256 sum;
} walk;

static void add(walk *self, uint32_t name) {
  const pd_string *text = pd_trace_string(self->trace, name);
  sha256_add(&self->sum, text->text, text->length);
  sha256_add(&self->sum, "\n", 1);
  if (name < self->trace->strings.count) self->out->counts[name]++;
}

static bool is_operation(const pd_trace *trace, uint64_t index) {
  const pd_range *range = PD_AT(pd_range, &trace->ranges, index);
  return range->kind == PD_RANGE_OP && range->step != PD_NONE && !trace->copies_ahead;
}

static void add_call(walk *self, const pd_call *call) {
  const pd_trace *trace = self->trace;
  for (uint32_t i = 0; i < call->activity_count; i++) {
    const uint32_t index = *PD_AT(uint32_t, &trace->activities_by_call, call->activity_first + i);
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, index);
    if (trace->copies_ahead && row->detail.kind != PD_ACTIVITY_KERNEL) continue;
    add(self, row->name);
    self->out->launches++;
  }
}

/* Ranges of one thread are sorted by their start, the loop's first; calls are sorted by their start, too. */
static void add_all(walk *self) {
  const pd_trace *trace = self->trace;
  uint64_t range = 0, call = 0;
  for (;;) {
    while (call < trace->calls.count &&
           (PD_AT(pd_call, &trace->calls, call)->thread != 0 || PD_AT(pd_call, &trace->calls, call)->step == PD_NONE))
      call++;
    const bool has_range = range < trace->ranges.count && PD_AT(pd_range, &trace->ranges, range)->thread == 0;
    const bool has_call = call < trace->calls.count;
    if (!has_range && !has_call) return;
    const pd_call *launch = has_call ? PD_AT(pd_call, &trace->calls, call) : NULL;
    if (has_range && (!launch || PD_AT(pd_range, &trace->ranges, range)->start_ns <= launch->start_ns)) {
      if (is_operation(trace, range)) {
        add(self, PD_AT(pd_range, &trace->ranges, range)->name);
        self->out->operations++;
      }
      range++;
    } else if (launch) {
      add_call(self, launch);
      call++;
    }
  }
}

pd_status launch_sequence_find(const pd_trace *trace, launch_sequence *out) {
  *out = (launch_sequence){.counts = calloc(trace->strings.count + 1, sizeof *out->counts)};
  if (!out->counts) return PD_NO_MEMORY;
  walk self = {.trace = trace, .out = out};
  sha256_begin(&self.sum);
  add_all(&self);
  sha256_end(&self.sum, out->sha256);
  return PD_OK;
}
