/* What a thread was seen at while the device was idle, and what children used. Times in us unless they say ns. */
#include "facts/child_use.h"
#include "facts/thread_states.h"
#include "fake_trace.h"
#include "pd_test.h"

#include <math.h>

#define US(n) (INT64_C(1000) * (n))

typedef struct rig {
  fake_trace *fake;
  pd_trace *trace;
  trace_facts *facts;
  uint32_t first, second; /* threads */
} rig;

static void launch(rig *self, uint32_t thread, uint32_t stream, int64_t at, int64_t end, uint64_t number) {
  fake_call(self->fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, US(at), US(at + 10), number);
  fake_kernel(self->fake, "k", stream, US(at + 10), US(end), number);
}

/* A step of 1 ms. The device works from 10 to 100 and from 810 to 900. */
static void begin(rig *self, uint32_t second_launches) {
  *self = (rig){.fake = fake_trace_open()};
  cr_assert_not_null(self->fake);
  self->first = 0; /* the loop's */
  self->second = fake_thread(self->fake, 2, "two");
  const uint32_t stream = fake_stream(self->fake, 0, 1, 7);
  fake_step(self->fake, 0, 0, US(1000));
  launch(self, self->first, stream, 0, 100, 1);
  fake_call(self->fake, PD_API_SYNC, "cudaStreamSynchronize", self->first, US(150), US(250), 2);
  launch(self, second_launches ? self->second : self->first, stream, 800, 900, 3);
  self->trace = fake_trace_finish(self->fake);
  cr_assert_not_null(self->trace);
}

static void open_facts(rig *self, const pd_state_row *states, uint64_t state_count) {
  self->trace->states = (pd_array){states, state_count, sizeof *states};
  self->trace->facts = PD_FACT_CALLS | PD_FACT_STATES;
  self->facts = facts_open(self->trace);
  cr_assert_not_null(self->facts);
}

static void end(rig *self) {
  facts_close(self->facts);
  fake_trace_close(self->fake);
}

static const pd_state_row states[] = {
    {.start_ns = US(90), .end_ns = US(120), .thread = 0, .state = PD_HOST_RUNS},
    {.start_ns = US(120), .end_ns = US(700), .thread = 0, .state = PD_HOST_READ},
    {.start_ns = US(0), .end_ns = US(1000), .thread = 1, .state = PD_HOST_POLL},
};

PD_TEST(thread_states, of_the_thread_that_launches_next_outside_its_calls) {
  rig self;
  idle_reasons out;
  begin(&self, 0);
  open_facts(&self, states, 3);
  cr_assert(idle_reasons_open(self.facts, &out));
  cr_assert_eq(out.idle_ns, US(50 + 550)); /* 100 to 150, 250 to 800 */
  cr_assert_eq(out.known_ns, US(20 + 30 + 450));
  cr_assert_eq(out.count, 2);
  cr_assert_eq(out.rows[0].state, PD_HOST_READ);
  cr_assert_eq(out.rows[0].idle_ns, US(30 + 450));
  cr_assert_eq(out.rows[1].state, PD_HOST_RUNS);
  cr_assert_eq(out.rows[1].idle_ns, US(20));
  idle_reasons_free(&out);
  end(&self);
}

PD_TEST(thread_states, another_thread_that_launches_is_the_one_to_ask) {
  rig self;
  idle_reasons out;
  begin(&self, 1);
  open_facts(&self, states, 3);
  cr_assert(idle_reasons_open(self.facts, &out));
  cr_assert_eq(out.idle_ns, US(700)); /* 100 to 800: the call between is not its own */
  cr_assert_eq(out.count, 1);
  cr_assert_eq(out.rows[0].state, PD_HOST_POLL);
  cr_assert_eq(out.rows[0].idle_ns, US(700));
  idle_reasons_free(&out);
  end(&self);
}

PD_TEST(thread_states, places_of_code_are_counted_while_the_device_is_idle) {
  static const pd_code_row code[] = {
      {US(50), 0, 1}, {US(110), 0, 1}, {US(300), 0, 2}, {US(400), 0, 2}, {US(300), 1, 1}};
  rig self;
  idle_reasons out;
  begin(&self, 0);
  self.trace->code = (pd_array){code, 5, sizeof code[0]};
  open_facts(&self, states, 0);
  cr_assert(idle_reasons_open(self.facts, &out));
  cr_assert_eq(out.samples, 3);
  cr_assert_eq(out.place_count, 2);
  cr_assert_eq(out.places[0].place, 2);
  cr_assert_eq(out.places[0].samples, 2);
  cr_assert_eq(out.known_ns, 0);
  idle_reasons_free(&out);
  end(&self);
}

PD_TEST(thread_states, children_between_their_first_and_last_sample_in_the_steps) {
  static const pd_child_row children[] = {
      {.ts_ns = -US(500), .cpu_ns = 0, .disk_bytes = 0, .read_bytes = 0, .pid = 7},
      {.ts_ns = US(100), .cpu_ns = US(10), .disk_bytes = 1000, .read_bytes = -1, .pid = 7},
      {.ts_ns = US(900), .cpu_ns = US(610), .disk_bytes = 9000, .read_bytes = -1, .pid = 7},
      {.ts_ns = US(500), .cpu_ns = US(10), .pid = 8}};
  rig self;
  child_uses out;
  begin(&self, 0);
  self.trace->children = (pd_array){children, 4, sizeof children[0]};
  open_facts(&self, states, 0);
  cr_assert(child_uses_open(self.facts, &out));
  cr_assert_eq(out.count, 1); /* of one sample nothing is known */
  cr_assert_eq(out.rows[0].pid, 7);
  cr_assert_float_eq(out.rows[0].processors, 0.75, 1e-9);
  cr_assert_float_eq(out.rows[0].disk_per_s, 1e7, 1);
  cr_assert(isnan(out.rows[0].read_per_s));
  child_uses_free(&out);
  end(&self);
}
