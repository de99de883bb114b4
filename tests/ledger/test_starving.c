/* Silences of a program that marks no waits for its input: whose they are by what the system saw of the thread. */
#include "ledger/gains.h"
#include "fake_trace.h"
#include "pd_test.h"

enum { STEPS = 12, STEP_NS = 3000000, WAIT_NS = 2400000, LAUNCH_NS = 2500000 };

typedef struct starving {
  pd_host_state state;
  int64_t process_ns; /* of each wait */
  uint32_t ranks;
  int64_t busy_ns; /* how long the kernel of a step runs; 0: 400 us */
  bool unseen;     /* the states are there, but nobody says so */
} starving;

/* A step waits, and launches a kernel at its end. */
static gains judge(const starving *given) {
  static pd_state_row rows[STEPS];
  gains out;
  fake_trace *fake = fake_trace_open();
  cr_assert_not_null(fake);
  const uint32_t thread = fake_thread(fake, 1, "loop"), stream = fake_stream(fake, 0, 1, 7);
  for (uint32_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * STEP_NS, busy = given->busy_ns ? given->busy_ns : 400000;
    fake_step(fake, s, at, at + STEP_NS);
    fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, at + LAUNCH_NS, at + LAUNCH_NS + 5000, s + 1);
    fake_kernel(fake, "k", stream, at + LAUNCH_NS + 8000, at + LAUNCH_NS + 8000 + busy, s + 1);
    rows[s] = (pd_state_row){.start_ns = at + 10000,
                             .end_ns = at + 10000 + WAIT_NS,
                             .process_ns = given->process_ns,
                             .thread = thread,
                             .state = given->state};
  }
  pd_trace *trace = fake_trace_finish(fake);
  cr_assert_not_null(trace);
  trace->facts = PD_FACT_CALLS | PD_FACT_STEPS | (given->unseen ? 0 : PD_FACT_STATES);
  trace->device = NULL;
  trace->states = (pd_array){rows, STEPS, sizeof rows[0]};
  trace->ranks = given->ranks;
  trace_facts *of = facts_open(trace);
  cr_assert(of && gains_find(of, &out) && out.is_judged);
  facts_close(of);
  gains_free(&out);
  fake_trace_close(fake);
  return out;
}

static uint32_t cause(const starving *given) { return judge(given).cause; }

PD_TEST(starving, a_blocked_read_or_poll_with_an_idle_device_is_input) {
  const pd_host_state states[] = {PD_HOST_READ, PD_HOST_POLL};
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
    const gains out = judge(&(starving){.state = states[i], .process_ns = -1});
    cr_assert_eq(out.cause, VERDICT_input_bound);
    cr_assert_float_eq(out.causes[VERDICT_input_bound].gain, (double)WAIT_NS / STEP_NS, 0.05);
  }
}

PD_TEST(starving, what_does_not_wait_for_others_is_computing) {
  const pd_host_state states[] = {PD_HOST_RUNS,  PD_HOST_DELAYED, PD_HOST_SLEEP,
                                  PD_HOST_FAULT, PD_HOST_CALL,    PD_HOST_BLOCKED};
  for (size_t i = 0; i < sizeof states / sizeof states[0]; i++)
    cr_assert_eq(cause(&(starving){.state = states[i]}), VERDICT_host_compute, "state %u", states[i]);
}

PD_TEST(starving, a_wait_for_a_thread_is_input_where_the_process_computes_nothing) {
  cr_assert_eq(cause(&(starving){.state = PD_HOST_FUTEX, .process_ns = WAIT_NS / 50}), VERDICT_input_bound);
  cr_assert_eq(cause(&(starving){.state = PD_HOST_FUTEX, .process_ns = WAIT_NS / 2}), VERDICT_host_compute);
  cr_assert_eq(cause(&(starving){.state = PD_HOST_FUTEX, .process_ns = -1}), VERDICT_host_compute);
}

PD_TEST(starving, nothing_is_said_of_ranks_or_of_what_was_not_seen) {
  cr_assert_eq(cause(&(starving){.state = PD_HOST_READ, .ranks = 2}), VERDICT_host_compute);
  cr_assert_eq(cause(&(starving){.state = PD_HOST_READ, .unseen = true}), VERDICT_host_compute);
}

PD_TEST(starving, a_wait_beside_a_busy_device_holds_up_nothing) {
  cr_assert_eq(cause(&(starving){.state = PD_HOST_READ, .busy_ns = STEP_NS - 2000}), VERDICT_none);
}
