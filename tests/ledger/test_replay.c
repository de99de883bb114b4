/* The replay against an independent simulation: random programs of lanes, streams, events and blocking calls are run by
 * a discrete-event simulation, once as they are and once with something removed. Replayed from what the first run
 * shows, each record must end, and each lane and step must finish, when it does in the second. */
#include "ledger/program.h"
#include "machine.h"
#include "fake_trace.h"
#include "pd_test.h"

#include <stdlib.h>
#include <string.h>

/* ---- the replay of it ---- */

typedef struct replayed {
  replay replay;
  replay_item items[MOST_OPS];
  replay_wait waits[MOST_OPS];
  replay_record records[MOST_OPS];
  replay_merged merged[MOST_OPS];
  replay_edge edges[MOST_EDGES];
  uint32_t record_of[MOST_OPS];
  int64_t bounds[MOST_STEPS + 1];
} replayed;

static void translate_record(const machine *from, uint32_t i, replayed *to, uint32_t *edge_count) {
  const operation *op = &from->ops[i];
  to->record_of[i] = to->replay.record_count;
  to->merged[to->replay.record_count] = (replay_merged){op->merged_ns, op->longest_ns};
  replay_record *record = &to->records[to->replay.record_count++];
  *record = (replay_record){.duration_ns = op->kernel_ns,
                            .latency_ns = op->latency_ns,
                            .gap_ns = op->gap_ns,
                            .edge_ns = op->edge_ns,
                            .fixed_ns = (int32_t)op->fixed_ns,
                            .fixed_gap_ns = (int32_t)op->fixed_gap_ns,
                            .recording_ns = (int32_t)(op->gap_ns - op->own_gap_ns),
                            .stream = op->stream,
                            .edge_first = *edge_count,
                            .edge_count = op->wait_count,
                            .owners = op->owners,
                            .flags = (op->by_call ? REPLAY_BY_CALL : 0) | (op->delayed ? REPLAY_DELAYED : 0) |
                                     (op->later_record ? REPLAY_LATER_PASS : 0) | (op->inside ? REPLAY_INSIDE : 0)};
  for (uint32_t w = 0; w < op->wait_count; w++)
    to->edges[(*edge_count)++] = (replay_edge){.record = to->record_of[op->waits[w]], .apart = op->apart[w]};
}

static void translate(const machine *from, replayed *to) {
  uint32_t edge_count = 0, first = 0;
  memset(to, 0, sizeof *to);
  for (uint32_t i = 0; i < from->count; i++) {
    const operation *op = &from->ops[i];
    if (op->stream != REPLAY_NONE) translate_record(from, i, to, &edge_count);
    if (op->joined) continue;
    replay_item *item = &to->items[to->replay.item_count++];
    *item = (replay_item){.duration_ns = op->host_ns,
                          .record_first = first,
                          .record_count = to->replay.record_count - first,
                          .wait = op->awaited == PD_NONE ? REPLAY_NONE : i,
                          .step = op->step,
                          .owner = (uint16_t)op->owner,
                          .lane = (uint16_t)op->lane,
                          .pauses = (uint16_t)op->pauses};
    first = to->replay.record_count;
    if (op->awaited != PD_NONE) to->waits[i] = (replay_wait){op->own_ns, op->tail_ns, to->record_of[op->awaited]};
    if (op->blocks) item->flags |= REPLAY_BLOCKS;
    if (op->drains) item->flags |= REPLAY_DRAINS;
    if (op->later_pass) item->flags |= REPLAY_LATER_PASS;
    if (op->scaled) item->flags |= REPLAY_SCALED;
    if (op->outside) item->flags |= REPLAY_OUTSIDE;
  }
  to->replay.items = to->items;
  to->replay.records = to->records;
  to->replay.merged = to->merged;
  to->replay.edges = to->edges;
  to->replay.waits = to->waits;
  to->replay.stream_count = from->streams;
  to->replay.lane_count = from->lanes;
  to->replay.step_count = from->steps;
  to->replay.latency_ns = from->usual_latency_ns;
  to->replay.gap_ns = from->usual_gap_ns;
  to->replay.inside = from->inside;
}

static replay_variant random_variant(void) {
  replay_variant out = {.keep = machine_chance(50) ? 1 : 0.25 + 0.01 * (double)machine_draw(74)};
  for (uint32_t bit = 1; bit < 9; bit++)
    if (machine_chance(25)) out.without |= 1u << bit;
  out.without &= ~(replay_owners)REPLAY_MEASUREMENT;
  if (machine_chance(25)) out.graph = REPLAY_LAUNCH | REPLAY_CHAIN;
  out.apart = machine_chance(25);
  out.one_pass = machine_chance(25);
  out.longest = machine_chance(50);
  out.eager = machine_chance(25);
  out.same_kernels = machine_chance(50);
  return out;
}

static void expect_same(const machine *self, const replayed *is, const replay_variant *variant, const char *what) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->ops[i].stream != PD_NONE)
      cr_assert_eq(is->replay.ends[is->record_of[i]], self->ops[i].kernel_end_ns,
                   "%s: record of %u ends at %lld, not %lld", what, i, (long long)is->replay.ends[is->record_of[i]],
                   (long long)self->ops[i].kernel_end_ns);
  for (uint32_t l = 0; l < self->lanes; l++)
    cr_assert_eq(is->replay.clocks[l], self->clocks[l], "%s: lane %u ends at %lld, not %lld", what, l,
                 (long long)is->replay.clocks[l], (long long)self->clocks[l]);
  for (uint32_t s = 0; s < self->steps; s++)
    cr_assert_eq(is->bounds[s + 1], machine_step_end(self, variant, s), "%s: step %u ends at %lld, not %lld", what, s,
                 (long long)is->bounds[s + 1], (long long)machine_step_end(self, variant, s));
}

/* PD_PROGRAMS in the environment: more of them. */
static uint32_t programs(uint32_t usual) {
  const char *more = getenv("PD_PROGRAMS");
  return more ? (uint32_t)strtoul(more, NULL, 10) : usual;
}

PD_TEST_WITH(replay, predicts_what_an_independent_simulation_finds, .timeout = 3600) {
  const uint32_t count = programs(100000);
  machine *one = malloc(sizeof *one);
  replayed *is = malloc(sizeof *is);
  cr_assert(one && is);
  machine_seed = 1;
  for (uint32_t p = 0; p < count; p++) {
    const replay_variant nothing = {.keep = 1};
    machine_make(one);
    translate(one, is);
    cr_assert(replay_open(&is->replay));
    machine_simulate(one, &nothing);
    replay_steps(&is->replay, &nothing, is->bounds);
    expect_same(one, is, &nothing, "as it is");
    for (int v = 0; v < 2; v++) {
      const replay_variant variant = random_variant();
      machine_simulate(one, &variant);
      replay_steps(&is->replay, &variant, is->bounds);
      expect_same(one, is, &variant, "removed");
    }
    replay_close(&is->replay);
  }
  free(one);
  free(is);
}

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
  *out = (script){.count = (uint32_t)machine_draw(SCRIPT_OPS - 12) + 12};
  for (uint32_t i = 0; i < out->count; i++) {
    script_op *op = &out->ops[i];
    const int64_t dice = machine_draw(99);
    if (machine_chance(10)) thread = !thread;
    *op = (script_op){.kind = dice < 20   ? SCRIPT_CODE
                              : dice < 27 ? SCRIPT_COMPUTE
                              : dice < 32 ? SCRIPT_INPUT
                              : dice < 85 ? SCRIPT_LAUNCH
                              : dice < 93 ? SCRIPT_HAND_OVER
                                          : SCRIPT_SYNC,
                      .stream = (uint32_t)machine_draw(1),
                      .thread = thread};
    /* Code between two blocking calls may be theirs. */
    if (op->kind == SCRIPT_CODE && i && op[-1].kind == SCRIPT_SYNC) op->kind = SCRIPT_LAUNCH;
    op->ns = UNIT_NS * (op->kind == SCRIPT_CODE ? 1 + machine_draw(1) : 1 + machine_draw(12));
    if (op->kind == SCRIPT_COMPUTE || op->kind == SCRIPT_INPUT) op->ns += QUIET_NS;
  }
  /* One launch on an idle device and one behind it: what the usual latency and gap are is never a guess. */
  out->ops[0] = out->ops[1] = out->ops[2] = (script_op){.kind = SCRIPT_LAUNCH, .ns = 5 * UNIT_NS};
  out->ops[2].thread = 1; /* a thread that launches nothing is not judged */
}

/* Where computing, or waits for input, last PAUSE_NS, with at most PIECE_NS of launching between their pieces, the next
 * COLD_NS of launching take twice as long. */
enum { PAUSE_NS = 500000, PIECE_NS = 20000, COLD_NS = 300000 };

typedef struct caches {
  int64_t computed_ns, waited_ns, since_ns, warming_ns, code_ns;
  replay_owners cold;
} caches;

static void pause(caches *self, replay_owners owner, int64_t ns) {
  int64_t *of = owner == REPLAY_HOST ? &self->computed_ns : &self->waited_ns;
  if (self->since_ns > PIECE_NS) self->computed_ns = self->waited_ns = 0;
  self->since_ns = 0;
  *of += ns;
  if (*of >= PAUSE_NS) {
    self->cold |= owner;
    self->warming_ns = 0;
  }
}

/* What `ns` of launching takes, as one stretch, with `gone` left out. */
static int64_t launching(caches *self, int64_t ns, replay_owners gone) {
  self->since_ns += ns;
  self->warming_ns += ns;
  if (self->warming_ns > COLD_NS) self->cold = 0;
  return self->cold && (self->cold & gone) == self->cold ? ns / 2 : ns;
}

/* Code up to here is one stretch. */
static int64_t code(caches *self, replay_owners gone) {
  const int64_t ns = self->code_ns;
  self->code_ns = 0;
  return ns ? launching(self, ns, gone) : 0;
}

/* Runs it, SCRIPT_STEPS times in a row, with what `gone` names left out; as a trace where `fake` is given. Returns when
 * host and device are done. */
static int64_t perform(const script *self, replay_owners gone, fake_trace *fake) {
  int64_t host = 0, free_at[2] = {0, 0}, last_end[2] = {0, 0}, done = 0, correlation = 0;
  bool used[2] = {false, false}, has_last[2] = {false, false};
  uint32_t streams[2] = {0, 0}, threads[2] = {0, 0}, last_stream[2] = {0, 0};
  caches of = {0};
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
      if (op->kind == SCRIPT_CODE)
        of.code_ns += op->ns;
      else
        host += code(&of, gone);
      if (op->kind == SCRIPT_COMPUTE) pause(&of, REPLAY_HOST, op->ns);
      if (op->kind == SCRIPT_INPUT) pause(&of, REPLAY_INPUT, op->ns);
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
      host += launching(&of, UNIT_NS, gone);
    }
    host += code(&of, gone);
    if (fake) fake_step(fake, s, step_start, host);
  }
  return host > done ? host : done;
}

PD_TEST(replay, predicts_from_a_trace_what_the_program_then_takes) {
  static const replay_owners all[] = {0, REPLAY_HOST, REPLAY_INPUT, REPLAY_HOST | REPLAY_INPUT};
  machine_seed = 2;
  for (uint32_t p = 0; p < 10000; p++) {
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
