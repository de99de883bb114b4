/* What the tests of the gains share. */
#ifndef TESTS_LEDGER_GAINS_RIG_H
#define TESTS_LEDGER_GAINS_RIG_H

#include "ledger/gains.h"
#include "fake_trace.h"
#include "pd_test.h"

enum { STEPS = 6, STEP_NS = 200000 };

typedef struct gains_rig {
  fake_trace *fake;
  uint32_t thread, main, side;
  uint64_t correlation;
  int64_t record_cost_ns, unprofiled_step_ns;
  pd_twin twin;
  bool sync_timing;
  const pd_device_props *device;
  uint64_t graph_input_bytes;
} gains_rig;

static inline void begin(gains_rig *self) {
  *self = (gains_rig){.fake = fake_trace_open()};
  cr_assert_not_null(self->fake);
  self->thread = fake_thread(self->fake, 1, "loop");
  self->main = fake_stream(self->fake, 0, 1, 7);
  self->side = fake_stream(self->fake, 0, 1, 8);
}

/* Step `s`; its start. */
static inline int64_t add_step(gains_rig *self, uint64_t s) {
  const int64_t start = (int64_t)s * STEP_NS;
  fake_step(self->fake, s, start, start + STEP_NS);
  return start;
}

/* A launch of 1 us at `at`; its kernel, which takes the whole device. */
static inline void launch(gains_rig *self, uint32_t stream, int64_t at, int64_t start, int64_t end) {
  fake_call(self->fake, PD_API_LAUNCH, "cudaLaunchKernel", self->thread, at, at + 1000, ++self->correlation);
  fake_kernel_fills(fake_kernel(self->fake, "k", stream, start, end, self->correlation), 2, 8);
}

static inline void judge(gains_rig *self, pd_facts facts, gains *out) {
  pd_trace *trace = fake_trace_finish(self->fake);
  cr_assert_not_null(trace);
  trace->facts = PD_FACT_CALLS | PD_FACT_STEPS | facts;
  trace->device = self->device;
  trace->graph_input_bytes = self->graph_input_bytes;
  trace->sync_timing = self->sync_timing;
  trace->record_cost_ns = self->record_cost_ns;
  trace->unprofiled_step_ns = self->unprofiled_step_ns;
  trace->twin = self->twin;
  trace_facts *of = facts_open(trace);
  cr_assert(of && gains_find(of, out) && out->is_judged);
  facts_close(of);
  gains_free(out);
  fake_trace_close(self->fake);
}

#endif
