/* The replay of a program through the trace that it leaves. */
#include "replay_rig.h"

/* ---- through a trace ---- */

/* All times are multiples of 10 us but the latency and the tail of a blocking call, so that no record starts nearly
 * when another thing would have let it: what held it up is certain. */
enum { UNIT_NS = 10000, LATENCY_NS = 5000, TAIL_NS = 5000, QUIET_NS = 600000 };

/* One lane of two threads that take turns, and two streams. Between calls: launching code, computing, waits for input.
 * A launch takes UNIT_NS, an event's record and wait nothing. */
typedef struct script_op {
  enum { SCRIPT_CODE, SCRIPT_COMPUTE, SCRIPT_INPUT, SCRIPT_LAUNCH, SCRIPT_HAND_OVER, SCRIPT_SYNC, SCRIPT_KINDS } kind;
  int64_t ns;
  uint32_t stream, thread;
} script_op;

enum { SCRIPT_OPS = 40, SCRIPT_STEPS = 4 };

typedef struct script {
  script_op ops[SCRIPT_OPS];
  uint32_t count;
} script;

static void write_script(script *out) {
  uint32_t thread = 0;
  *out = (script){.count = (uint32_t)random_to(SCRIPT_OPS - 12) + 12};
  for (uint32_t i = 0; i < out->count; i++) {
    script_op *op = &out->ops[i];
    const int64_t dice = random_to(99);
    if (chance(10)) thread = !thread;
    *op = (script_op){.kind = dice < 20   ? SCRIPT_CODE
                              : dice < 27 ? SCRIPT_COMPUTE
                              : dice < 32 ? SCRIPT_INPUT
                              : dice < 85 ? SCRIPT_LAUNCH
                              : dice < 93 ? SCRIPT_HAND_OVER
                                          : SCRIPT_SYNC,
                      .stream = (uint32_t)random_to(1),
                      .thread = thread};
    op->ns = UNIT_NS * (op->kind == SCRIPT_CODE ? 1 + random_to(1) : 1 + random_to(12));
    if (op->kind == SCRIPT_COMPUTE || op->kind == SCRIPT_INPUT) op->ns += QUIET_NS;
  }
  /* One launch on an idle device and one behind it: what the usual latency and gap are is never a guess. */
  out->ops[0] = out->ops[1] = out->ops[2] = (script_op){.kind = SCRIPT_LAUNCH, .ns = 5 * UNIT_NS};
  out->ops[2].thread = 1; /* a thread that launches nothing is not judged */
}

/* Runs it, SCRIPT_STEPS times in a row, with what `gone` names left out; as a trace where `fake` is given. Returns when
 * host and device are done. */
static int64_t perform(const script *self, replay_owners gone, fake_trace *fake) {
  int64_t host = 0, free_at[2] = {0, 0}, last_end[2] = {0, 0}, done = 0, correlation = 0;
  bool used[2] = {false, false}, has_last[2] = {false, false};
  uint32_t streams[2] = {0, 0}, threads[2] = {0, 0}, last_stream[2] = {0, 0};
  if (fake) {
    threads[1] = fake_thread(fake, 77, "second");
    streams[0] = fake_stream(fake, 0, 1, 7);
    streams[1] = fake_stream(fake, 0, 1, 8);
  }
  for (uint32_t s = 0; s < SCRIPT_STEPS; s++) {
    const int64_t step_start = host;
    for (uint32_t i = 0; i < self->count; i++) {
      const script_op *op = &self->ops[i];
      const uint32_t thread = threads[op->thread];
      if (op->kind == SCRIPT_CODE) host += op->ns;
      if (op->kind == SCRIPT_COMPUTE && !(gone & REPLAY_HOST)) {
        if (fake)
          fake_call(fake, PD_API_OTHER, "cudaGetLastError", thread, host, host, 100000 + (uint64_t)++correlation);
        host += op->ns;
        if (fake)
          fake_call(fake, PD_API_OTHER, "cudaGetLastError", thread, host, host, 100000 + (uint64_t)++correlation);
      }
      if (op->kind == SCRIPT_INPUT) {
        if (fake)
          fake_range(fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_x.__next__", thread, host, host + op->ns);
        if (!(gone & REPLAY_INPUT)) host += op->ns;
      }
      if (op->kind == SCRIPT_SYNC && !(gone & REPLAY_SYNC)) {
        const int64_t start = host, end = free_at[0] > free_at[1] ? free_at[0] : free_at[1];
        host = end > start ? end + TAIL_NS : start + TAIL_NS;
        if (fake)
          fake_call(fake, PD_API_SYNC, "cudaDeviceSynchronize", thread, start, host, 100000 + (uint64_t)++correlation);
      }
      if (op->kind != SCRIPT_LAUNCH && op->kind != SCRIPT_HAND_OVER) continue;
      const bool ties = op->kind == SCRIPT_HAND_OVER && has_last[op->thread] && last_stream[op->thread] != op->stream;
      if (ties && fake) {
        fake_call(fake, PD_API_OTHER, "cudaEventRecord", thread, host, host, 100000 + (uint64_t)++correlation);
        fake_call(fake, PD_API_STREAM_WAIT, "cudaStreamWaitEvent", thread, host, host,
                  100000 + (uint64_t)++correlation);
      }
      int64_t start = host + LATENCY_NS;
      if (used[op->stream] && free_at[op->stream] > start) start = free_at[op->stream];
      if (ties && last_end[op->thread] > start) start = last_end[op->thread];
      last_end[op->thread] = free_at[op->stream] = start + op->ns;
      if (last_end[op->thread] > done) done = last_end[op->thread];
      used[op->stream] = has_last[op->thread] = true;
      last_stream[op->thread] = op->stream;
      if (fake) {
        fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, host, host + UNIT_NS, (uint64_t)++correlation);
        fake_kernel(fake, "k", streams[op->stream], start, last_end[op->thread], (uint64_t)correlation);
      }
      host += UNIT_NS;
    }
    if (fake) fake_step(fake, s, step_start, host);
  }
  return host > done ? host : done;
}

PD_TEST(replay, predicts_from_a_trace_what_the_program_then_takes) {
  enum { PROGRAMS = 10000 };
  static const replay_owners all[] = {0, REPLAY_HOST, REPLAY_INPUT, REPLAY_HOST | REPLAY_INPUT};
  state = 2;
  for (uint32_t p = 0; p < PROGRAMS; p++) {
    script self;
    timeline of;
    program is;
    int64_t bounds[SCRIPT_STEPS + 1];
    fake_trace *fake = fake_trace_open();
    cr_assert_not_null(fake);
    write_script(&self);
    const int64_t took = perform(&self, 0, fake);
    pd_trace *trace = fake_trace_finish(fake);
    cr_assert_not_null(trace);
    trace->sync_timing = 0;
    trace_facts *facts = facts_open(trace);
    cr_assert(facts && timeline_open(facts, &of) && program_open(&of, &is));
    for (size_t v = 0; v < sizeof all / sizeof *all; v++) {
      const replay_variant variant = {.without = all[v], .keep = 1};
      replay_steps(&is.replay, &variant, bounds);
      const int64_t wanted = v ? perform(&self, all[v], NULL) : took;
      cr_assert_eq(bounds[SCRIPT_STEPS], wanted, "program %u without %u: %lld, not %lld", p, (unsigned)all[v],
                   (long long)bounds[SCRIPT_STEPS], (long long)wanted);
    }
    program_close(&is);
    timeline_close(&of);
    facts_close(facts);
    fake_trace_close(fake);
  }
}

/* Two kernels on one stream, an event behind each, and a second stream that waits for the first event. */
static void two_events(bool knows_stream, bool knows_event, uint32_t *edges, uint32_t *record) {
  fake_trace *fake = fake_trace_open();
  cr_assert_not_null(fake);
  const uint32_t thread = fake_thread(fake, 1, "loop"), one = fake_stream(fake, 0, 1, 7),
                 two = fake_stream(fake, 0, 1, 8);
  fake_step(fake, 0, 0, 400000);
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, 0, 1000, 1);
  fake_kernel(fake, "a", one, 10000, 60000, 1);
  fake_call(fake, PD_API_OTHER, "cudaEventRecord", thread, 1000, 2000, 2);
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, 2000, 3000, 3);
  fake_kernel(fake, "b", one, 60000, 65000, 3);
  fake_call(fake, PD_API_OTHER, "cudaEventRecord", thread, 3000, 4000, 4);
  fake_call(fake, PD_API_STREAM_WAIT, "cudaStreamWaitEvent", thread, 4000, 5000, 5);
  if (knows_stream) {
    pd_other_row *row = fake_other(fake, PD_ACTIVITY_SYNC, "Stream Wait Event", two, 4500, 4500);
    row->correlation = 5;
    row->awaited = knows_event ? 2 : 0;
  }
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, 5000, 6000, 6);
  fake_kernel(fake, "c", one, 65000, 165000, 6);
  fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, 6000, 7000, 7);
  fake_kernel(fake, "d", two, knows_event ? 61000 : 66000, 266000, 7);
  pd_trace *trace = fake_trace_finish(fake);
  cr_assert_not_null(trace);
  if (knows_event) trace->facts |= PD_FACT_EVENTS;
  trace_facts *facts = facts_open(trace);
  timeline of;
  cr_assert(facts && timeline_open(facts, &of));
  *edges = of.edge_count;
  *record = of.edge_count ? of.edges[0].record : PD_NONE;
  cr_assert_eq(of.records[3].edge_count, of.edge_count, "all are d's");
  timeline_close(&of);
  facts_close(facts);
  fake_trace_close(fake);
}

PD_TEST(replay, a_stream_waits_for_the_event_that_is_known) {
  uint32_t edges, record;
  /* The thread's next launch is on the stream of the event itself; but d starts late, and just as b ends. */
  two_events(false, false, &edges, &record);
  cr_assert(edges == 1 && record == 1);
  two_events(true, false, &edges, &record); /* the stream's next launch, behind the thread's last event */
  cr_assert(edges == 1 && record == 1);
  two_events(true, true, &edges, &record);
  cr_assert(edges == 1 && record == 0);
}
