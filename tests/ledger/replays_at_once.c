/* Replays of several variants at once, on several threads, against the same one after the other. */
#include "ledger/gains_replays.h"
#include "fake_trace.h"
#include "pd_test.h"

#include <stdlib.h>

enum { STEPS = 200, LAUNCHES = 30 }; /* more items than one thread replays alone */

typedef struct rig {
  fake_trace *fake;
  trace_facts *facts;
  timeline of;
  program is;
  gains_replays at_once, in_turn;
} rig;

static void rig_open(rig *self) {
  self->fake = fake_trace_open();
  cr_assert_not_null(self->fake);
  const uint32_t thread = fake_thread(self->fake, 1, "loop"), stream = fake_stream(self->fake, 0, 1, 7);
  int64_t now = 0, free_at = 0;
  uint64_t correlation = 0;
  for (uint32_t s = 0; s < STEPS; s++) {
    const int64_t begin = now;
    for (uint32_t i = 0; i < LAUNCHES; i++) {
      const int64_t length = 1000 + 100 * ((s + i) % 7);
      const int64_t start = now + 3000 > free_at ? now + 3000 : free_at;
      fake_call(self->fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, now, now + 2000, ++correlation);
      fake_kernel_fills(fake_kernel(self->fake, "k", stream, start, free_at = start + length, correlation), 2, 8);
      now += 4000;
    }
    fake_call(self->fake, PD_API_SYNC, "cudaStreamSynchronize", thread, now, free_at + 1000, ++correlation);
    now = free_at + 2000;
    fake_step(self->fake, s, begin, now);
  }
  pd_trace *trace = fake_trace_finish(self->fake);
  cr_assert_not_null(trace);
  self->facts = facts_open(trace);
  cr_assert(self->facts && timeline_open(self->facts, &self->of) && program_open(&self->of, &self->is));
  cr_assert(gains_replays_open(&self->at_once, &self->of, &self->is, 1, STEPS - 1));
  cr_assert(gains_replays_open(&self->in_turn, &self->of, &self->is, 1, STEPS - 1));
}

static void rig_close(rig *self) {
  gains_replays_close(&self->at_once);
  gains_replays_close(&self->in_turn);
  program_close(&self->is);
  timeline_close(&self->of);
  facts_close(self->facts);
  fake_trace_close(self->fake);
}

static const replay_variant variants[] = {{.keep = 1},
                                          {.without = REPLAY_SYNC, .keep = 1},
                                          {.graph = REPLAY_LAUNCH, .keep = 1},
                                          {.graph = REPLAY_LAUNCH, .without = REPLAY_SYNC, .keep = 1},
                                          {.keep = 0.5},
                                          {.graph = REPLAY_LAUNCH, .keep = 0.25}};
enum {
  VARIANTS = sizeof variants / sizeof variants[0],
  UNLIKE = VARIANTS - 2 /* the loop's own synchronisation is none that a program makes */
};

PD_TEST(gains, replays_at_once_are_those_made_in_turn) {
  static double steps[VARIANTS][STEPS];
  gains_job jobs[VARIANTS];
  rig self;
  rig_open(&self);
  cr_assert_gt(self.is.replay.item_count, 5000);
  for (uint32_t v = 0; v < VARIANTS; v++) jobs[v] = (gains_job){.variant = variants[v], .steps = steps[v]};
  gains_replays_make_all(&self.at_once, jobs, VARIANTS);
  cr_assert_eq(self.at_once.known_count, VARIANTS);
  for (uint32_t v = 0; v < VARIANTS; v++) {
    const double mean = gains_replays_make(&self.in_turn, &variants[v]);
    cr_assert_gt(mean, 0);
    cr_assert(!(jobs[v].mean < mean) && !(jobs[v].mean > mean), "variant %u: %f, not %f", v, jobs[v].mean, mean);
    for (uint32_t s = 0; s < STEPS - 1; s++) { /* the first step is not judged */
      const double wanted = (double)(self.in_turn.bounds[s + 2] - self.in_turn.bounds[s + 1]);
      cr_assert(!(steps[v][s] < wanted) && !(steps[v][s] > wanted), "variant %u, step %u", v, s);
    }
  }
  rig_close(&self);
}

PD_TEST(gains, a_replay_that_is_known_or_the_same_as_another_is_not_made_again) {
  rig self;
  rig_open(&self);
  gains_replays_know(&self.at_once, variants, VARIANTS);
  cr_assert_eq(self.at_once.known_count, UNLIKE);
  const replay_variant more[] = {variants[1],
                                 {.without = REPLAY_ALLOCATOR, .keep = 1}, /* the program has none */
                                 {.keep = 0.75},
                                 {.keep = 0.75, .apart = true}}; /* nor streams that wait for each other */
  gains_replays_know(&self.at_once, more, sizeof more / sizeof more[0]);
  cr_assert_eq(self.at_once.known_count, UNLIKE + 1);
  const double mean = gains_replays_mean(&self.in_turn, &variants[3]);
  const double known = gains_replays_mean(&self.at_once, &variants[3]);
  cr_assert(!(known < mean) && !(known > mean));
  cr_assert_eq(self.at_once.known_count, UNLIKE + 1);
  rig_close(&self);
}

PD_TEST(gains, the_device_is_counted_once_for_the_same_records_and_not_where_nothing_goes) {
  const replay_variant none = {.without = REPLAY_ALLOCATOR, .keep = 1}, /* the program has none */
      graph = {.graph = REPLAY_LAUNCH, .keep = 1}, also = {.graph = REPLAY_LAUNCH, .without = REPLAY_SYNC, .keep = 0.5},
                       kernels = {.graph = REPLAY_LAUNCH, .same_kernels = true, .keep = 1};
  rig self;
  rig_open(&self);
  cr_assert(!(gains_replays_least(&self.at_once, &none) > 0));
  const double least = gains_replays_least(&self.at_once, &graph);
  cr_assert_eq(self.at_once.busy_count, 1);
  cr_assert(!(gains_replays_least(&self.at_once, &also) < least) && self.at_once.busy_count == 1);
  /* Each kernel of 1 to 1.6 us, of which what only begins and ends goes with its launch. */
  cr_assert_gt(gains_replays_least(&self.at_once, &kernels), LAUNCHES * 1000);
  cr_assert_lt(gains_replays_least(&self.at_once, &kernels), LAUNCHES * 1600);
  cr_assert_lt(least, gains_replays_least(&self.at_once, &kernels));
  cr_assert_eq(self.at_once.busy_count, 2);
  rig_close(&self);
}

/* What the second of two streams does. */
typedef struct side_work {
  float blocks, warps; /* of its kernels, for each multiprocessor */
  bool copies;         /* copies instead */
  pd_memory_kind from;
  bool delayed; /* the last kernels begin late, though nothing holds them up */
} side_work;

/* Three steps of two streams, in each 30 kernels of 5 us that fill the device, and as much of `side`, one after the
 * other. How long the device needs at least for one of each. */
static double least_of_two_streams(side_work side, replay_variant variant, const pd_device_props *device) {
  enum { STEP_COUNT = 3, KERNEL_NS = 5000, LATE_NS = 100000 };
  fake_trace *fake = fake_trace_open();
  const uint32_t thread = fake_thread(fake, 1, "loop"), main = fake_stream(fake, 0, 1, 7),
                 other = fake_stream(fake, 0, 1, 8);
  uint64_t correlation = 0;
  int64_t now = 0;
  for (uint32_t s = 0; s < STEP_COUNT; s++) {
    const int64_t begin = now;
    for (uint32_t i = 0; i < LAUNCHES; i++, now += 10000) {
      const int64_t start = now + 3000 + (side.delayed && i + 1 == LAUNCHES ? LATE_NS : 0), then = start + KERNEL_NS;
      fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, now, now + 1000, ++correlation);
      fake_kernel_fills(fake_kernel(fake, "k", main, start, then, correlation), 2, 8);
      fake_call(fake, PD_API_LAUNCH, "launch", thread, now + 1000, now + 2000, ++correlation);
      if (side.copies)
        fake_copy(fake, side.from, PD_MEMORY_DEVICE, 1, other, then, then + KERNEL_NS, correlation);
      else
        fake_kernel_fills(fake_kernel(fake, "k", other, then, then + KERNEL_NS, correlation), side.blocks, side.warps);
    }
    if (side.delayed) now += LATE_NS;
    fake_call(fake, PD_API_SYNC, "cudaDeviceSynchronize", thread, now, now + 4000, ++correlation);
    now += 5000;
    fake_step(fake, s, begin, now);
  }
  pd_trace *trace = fake_trace_finish(fake);
  cr_assert_not_null(trace);
  trace->device = device;
  trace_facts *facts = facts_open(trace);
  timeline of;
  program is;
  gains_replays replays;
  cr_assert(facts && timeline_open(facts, &of) && program_open(&of, &is));
  cr_assert(gains_replays_open(&replays, &of, &is, 0, STEP_COUNT));
  const double least = gains_replays_least(&replays, &variant);
  gains_replays_close(&replays);
  program_close(&is);
  timeline_close(&of);
  facts_close(facts);
  fake_trace_close(fake);
  return least / LAUNCHES;
}

PD_TEST(gains, small_kernels_of_another_stream_take_a_part_of_the_device) {
  static const struct {
    side_work side;
    double least;
    const char *why;
  } cases[] = {{{.blocks = 3, .warps = 12}, 10000, "all of it"},
               {{.blocks = 0.25F, .warps = 8}, 6250, "a quarter of the multiprocessors"},
               {{.blocks = 1, .warps = 2}, 7500, "half of the schedulers"},
               {{.blocks = 1, .warps = 0.1F}, 6250, "a warp, however few threads it has"},
               {{.blocks = 0.5F}, 7500, "its warps are not known"},
               {{.blocks = 0}, 10000, "nothing is known"},
               {{.copies = true, .from = PD_MEMORY_PINNED}, 5000, "a copy from the host takes none"},
               {{.copies = true, .from = PD_MEMORY_PAGEABLE}, 5000, "nor does this one"},
               {{.copies = true, .from = PD_MEMORY_DEVICE}, 10000, "within the device"},
               {{.copies = true, .from = PD_MEMORY_MANAGED}, 10000, "it may be within the device"},
               {{.copies = true, .from = PD_MEMORY_UNKNOWN}, 10000, "it is not known"}};
  const replay_variant graph = {.graph = REPLAY_LAUNCH, .same_kernels = true, .keep = 1};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    cr_assert_float_eq(least_of_two_streams(cases[i].side, graph, NULL), cases[i].least, 1, "%s", cases[i].why);
  static const pd_device_props threads = {.size = sizeof threads};
  cr_assert_float_eq(least_of_two_streams(cases[6].side, graph, &threads), 10000, 1, "a copy takes a thread");
}

/* A kernel that begins late though nothing is known to hold it up may have waited for room. */
PD_TEST(gains, where_delays_go_each_kernel_takes_the_whole_device) {
  const replay_variant graph = {.graph = REPLAY_LAUNCH, .same_kernels = true, .keep = 1},
                       eager = {.eager = true, .keep = 1};
  const side_work side = {.blocks = 0.25F, .warps = 8, .delayed = true};
  cr_assert_float_eq(least_of_two_streams(side, graph, NULL), 6250, 1);
  cr_assert_float_eq(least_of_two_streams(side, eager, NULL), 10000, 1);
}

/* Operations divide what lies between two calls, and each piece is launching: the replay need not tell them apart. */
PD_TEST(gains, launching_between_two_calls_is_one_item) {
  enum { CALLS = 4, CALL_NS = 2000, EACH_NS = 20000 };
  timeline of;
  fake_trace *fake = fake_trace_open();
  const uint32_t thread = fake_thread(fake, 1, "loop"), stream = fake_stream(fake, 0, 1, 7);
  fake_step(fake, 0, 0, (int64_t)CALLS * EACH_NS);
  for (int64_t i = 0; i < CALLS; i++) {
    const int64_t at = i * EACH_NS;
    fake_range(fake, PD_RANGE_OP, "aten::add", thread, at + 4000, at + 8000);
    fake_range(fake, PD_RANGE_OP, "aten::mul", thread, at + 9000, at + 18000);
    fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", thread, at + 10000, at + 10000 + CALL_NS, (uint64_t)i + 1);
    fake_kernel(fake, "k", stream, at + 13000, at + 14000, (uint64_t)i + 1);
  }
  pd_trace *trace = fake_trace_finish(fake);
  trace->facts |= PD_FACT_OPERATIONS;
  trace_facts *facts = facts_open(trace);
  cr_assert(facts && timeline_open(facts, &of));
  cr_assert_eq(of.item_count, 2 * CALLS + 1); /* a piece before each call, and one after the last */
  int64_t pieces_ns = 0;
  for (uint64_t i = 0; i < of.item_count; i++)
    if (of.items[i].flags & REPLAY_QUIET) pieces_ns += of.items[i].duration_ns;
  cr_assert_eq(pieces_ns, (int64_t)CALLS * (EACH_NS - CALL_NS));
  timeline_close(&of);
  facts_close(facts);
  fake_trace_close(fake);
}
