/* The ledger: toy traces worked out by hand, and random schedules whose ledger is known. */
#include "analysis_rig.h"
#include "schedule_rig.h"

#include <stdio.h>

enum { SCHEDULES = 100000 };

static void owns(analysis_rig *rig, const char *cause, int64_t want) { RIG_INT(rig, "ledger", cause, "total", want); }

PD_TEST(ledger, random_schedules_come_back_exactly) {
  for (uint64_t seed = 1; seed <= SCHEDULES; seed++) {
    schedule made;
    ledger got;
    schedule_make(&made, seed);
    cr_assert_not_null(made.fake);
    pd_trace *trace = fake_trace_finish(made.fake);
    cr_assert_not_null(trace);
    trace->copies_ahead = made.copies_ahead;
    trace_facts *facts = facts_open(trace);
    cr_assert_not_null(facts);
    cr_assert(ledger_open(facts, &(gains){0}, &got)); /* of our own loop, which asks no gains */
    for (uint32_t s = 0; s < made.steps; s++)
      for (uint32_t c = 0; c < LEDGER_OWNER_COUNT; c++)
        cr_assert_eq(got.rows[s * LEDGER_OWNER_COUNT + c], made.want[s][c],
                     "schedule %llu, step %u: %s is %lld, not %lld", (unsigned long long)seed, s, ledger_key(c),
                     (long long)got.rows[s * LEDGER_OWNER_COUNT + c], (long long)made.want[s][c]);
    ledger_free(&got);
    facts_close(facts);
    fake_trace_close(made.fake);
  }
}

PD_TEST(ledger, idle_behind_a_blocking_read_is_forced_until_the_next_work_begins) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_step(rig.fake, 0, 0, 100000);
  fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, 10000, 90000);
  fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, 1000, 2000, 1);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 12000, 14000, 2);
  fake_kernel(rig.fake, "k", stream, 15000, 35000, 2);
  fake_call(rig.fake, PD_API_SYNC, "cudaStreamSynchronize", 0, 20000, 38000, 3);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 45000, 47000, 4);
  fake_kernel(rig.fake, "k", stream, 50000, 60000, 4);
  fake_call(rig.fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, 92000, 93000, 5);
  rig_finish(&rig);
  owns(&rig, "Kernels", 20000 + 10000);
  owns(&rig, "Forced synchronisation", 50000 - 35000);
  /* Before train_step, in it up to the first work, and behind it. */
  owns(&rig, "Synchronisations between steps", 15000 + 10000);
  owns(&rig, "Host launching", 90000 - 60000);
  owns(&rig, "Unknown", 0);
  rig_end(&rig);
}

/* Ten launches a step, one every 20 us, each with a kernel of 15 us behind it, and recording took 2 us of each; once a
 * wait in the place of a launch. */
PD_TEST(ledger, another_programs_idle_time_is_whose_the_replay_says) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t i = 0; i < 80; i++) {
    const int64_t at = (int64_t)i * 20000;
    if (i % 10 == 0) fake_step(rig.fake, i / 10, at, at + 200000);
    if (i == 25) {
      fake_call(rig.fake, PD_API_SYNC, "cudaStreamSynchronize", 0, at, at + 20000, i + 1);
    } else {
      fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 19000, at + 20000, i + 1);
      fake_kernel(rig.fake, "k", stream, at + 20000, at + 35000, i + 1);
    }
  }
  rig_finish(&rig);
  rig.trace->facts = PD_FACT_CALLS | PD_FACT_STEPS | PD_FACT_RECORDER_COST;
  rig.trace->record_cost_ns = 2000;
  analysis_forget(rig.analysis, rig.trace);
  const pd_table *table = rig_table(&rig, "ledger");
  owns(&rig, "Kernels", 78 * 15000);          /* the last one runs behind the steps */
  owns(&rig, "Forced synchronisation", 5000); /* while the kernel before it runs it costs nothing */
  owns(&rig, "Unknown", 0);
  const int64_t added = rig_int(table, rig_row(table, "Profiler overhead"), "total");
  cr_assert_float_eq((double)added, 80 * 2000, 8000);
  owns(&rig, "Host launching", 1600000 - 78 * 15000 - 5000 - added);
  rig_end(&rig);
}

/* Eight steps, each with a marked wait of 600 us and then a launch. In a wait the thread that launches is 400 us in
 * `state`, or with `operations` it runs one of them every 10 us. */
static void waits_for_input(pd_host_state state, bool operations, int64_t made_ns) {
  enum { STEPS = 8, STEP_NS = 800000, WAIT_NS = 600000 };
  static pd_state_row rows[STEPS];
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t loop = fake_thread(rig.fake, 1, "loop"), stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint32_t s = 0; s < STEPS; s++) {
    const int64_t at = (int64_t)s * STEP_NS;
    fake_step(rig.fake, s, at, at + STEP_NS);
    fake_range(rig.fake, PD_RANGE_DATALOADER, "DataLoader", loop, at, at + WAIT_NS);
    for (int64_t from = at; operations && from < at + WAIT_NS; from += 10000)
      fake_range(rig.fake, PD_RANGE_OP, "aten::mul", loop, from, from + 8000);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", loop, at + WAIT_NS + 10000, at + WAIT_NS + 15000, s + 1);
    fake_kernel(rig.fake, "k", stream, at + WAIT_NS + 20000, at + STEP_NS, s + 1);
    rows[s] = (pd_state_row){.start_ns = at, .end_ns = at + 400000, .thread = loop, .state = state};
  }
  rig_finish(&rig);
  rig.trace->facts = PD_FACT_CALLS | PD_FACT_STEPS | PD_FACT_INPUT | (operations ? PD_FACT_OPERATIONS : PD_FACT_STATES);
  if (!operations) rig.trace->states = (pd_array){rows, STEPS, sizeof rows[0]};
  analysis_forget(rig.analysis, rig.trace);
  owns(&rig, "Input wait: CPU work", STEPS * made_ns);
  owns(&rig, "Input wait: hand-over", STEPS * (WAIT_NS - made_ns));
  rig_end(&rig);
}

PD_TEST(ledger, a_loop_that_works_in_its_waits_makes_its_batches_itself) {
  waits_for_input(PD_HOST_RUNS, false, 400000);
  waits_for_input(PD_HOST_DELAYED, false, 400000);
  waits_for_input(PD_HOST_FUTEX, false, 0);
  waits_for_input(PD_HOST_READ, false, 0);
  waits_for_input(0, true, 600000);
}

PD_TEST(ledger, work_queued_longer_than_the_latency_is_the_devices_own) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_step(rig.fake, 0, 0, 100000);
  fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, 0, 100000);
  for (uint64_t i = 0; i < 3; i++)
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, (int64_t)i * 1000, (int64_t)i * 1000 + 1000, i + 1);
  fake_kernel(rig.fake, "k", stream, 3000, 30000, 1);
  fake_kernel(rig.fake, "k", stream, 32000, 60000, 2);  /* 2 us: the cost of a launch */
  fake_kernel(rig.fake, "k", stream, 80000, 100000, 3); /* 20 us: it waited for something */
  rig_finish(&rig);
  owns(&rig, "Device's own cost per launch", 2000);
  owns(&rig, "Device-side dependency", 20000);
  owns(&rig, "Host launching", 3000);
  rig_end(&rig);
}

/* Two steps of 100 us: three launches of 10 us with a kernel of 6 us behind each, and 20 us without a call. */
static void launch_bound_steps(analysis_rig *rig, int64_t unprofiled_ns) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 2; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig->fake, s, at, at + 100000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    for (uint64_t i = 0; i < 5; i++) {
      const int64_t from = at + (int64_t)i * 16000;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, from, from + 10000, s * 5 + i + 1);
      fake_kernel(rig->fake, "k", stream, from + 10000, from + 16000, s * 5 + i + 1);
    }
  }
  rig_finish(rig);
  rig->trace->unprofiled_step_ns = unprofiled_ns;
}

static void profiler_owns(int64_t unprofiled_ns, int64_t want) {
  analysis_rig rig;
  launch_bound_steps(&rig, unprofiled_ns);
  owns(&rig, "Kernels", 2 * 30000);
  owns(&rig, "Profiler overhead", want);
  owns(&rig, "Host launching", 2 * 70000 - want);
  rig_end(&rig);
}

PD_TEST(ledger, what_steps_take_longer_than_unprofiled_is_the_profilers) { profiler_owns(75000, 2 * 25000); }
PD_TEST(ledger, of_a_call_the_profiler_takes_no_more_than_the_call) { profiler_owns(10000, 2 * 5 * 10000); }
PD_TEST(ledger, steps_no_longer_than_unprofiled_leave_the_profiler_nothing) { profiler_owns(100001, 0); }
PD_TEST(ledger, without_unprofiled_steps_the_profiler_owns_its_records_alone) { profiler_owns(0, 0); }

PD_TEST(ledger, a_twin_says_what_is_the_profilers) {
  for (int shown = 0; shown < 2; shown++) {
    analysis_rig rig;
    launch_bound_steps(&rig, 75000);
    rig.trace->twin = (pd_twin){.step_ns = 88000, .added_ns = 12000, .low_ns = shown ? 8000 : -1000, .rounds = 4};
    owns(&rig, "Profiler overhead", shown ? 2 * 12000 : 0);
    rig_end(&rig);
  }
}

PD_TEST(ledger, calls_with_less_idle_time_give_what_they_have) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  fake_step(rig.fake, 0, 0, 100000);
  fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, 0, 100000);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 0, 10000, 1); /* 10 us idle */
  fake_kernel(rig.fake, "k", stream, 10000, 38000, 1);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 30000, 40000, 2); /* 2 us idle, in its end */
  fake_kernel(rig.fake, "k", stream, 40000, 100000, 2);
  rig_finish(&rig);
  rig.trace->unprofiled_step_ns = 93000;
  owns(&rig, "Profiler overhead", 7000); /* 5 us and 2 us */
  owns(&rig, "Host launching", 5000);
  rig_end(&rig);
}

/* A copy on a stream of kernels, another on one of its own, both alone; `kits`: both are operations. */
static void copied_batches(analysis_rig *rig, bool copies_ahead, bool kits) {
  rig_begin(rig);
  const uint32_t compute = fake_stream(rig->fake, 0, 1, 7), copies = fake_stream(rig->fake, 0, 1, 8);
  fake_step(rig->fake, 0, 0, 100000);
  fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, 0, 100000);
  for (uint64_t i = 0; i < 3; i++)
    fake_call(rig->fake, i ? PD_API_MEMCPY : PD_API_LAUNCH, "cuda", 0, (int64_t)i * 100, (int64_t)i * 100 + 100, i + 1);
  for (int64_t i = 1; kits && i < 3; i++) fake_range(rig->fake, PD_RANGE_OP, "aten::copy_", 0, i * 100, i * 100 + 100);
  fake_kernel(rig->fake, "k", compute, 300, 40000, 1);
  fake_copy(rig->fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 64, compute, 40000, 55000, 2);
  fake_copy(rig->fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, 64, copies, 30000, 62000, 3);
  rig_finish(rig);
  rig->trace->copies_ahead = copies_ahead;
}

static void late_and_pinned(bool copies_ahead, bool kits, int64_t late, int64_t pinned) {
  analysis_rig rig;
  copied_batches(&rig, copies_ahead, kits);
  owns(&rig, "Exposed copy of a late batch", late);
  owns(&rig, "Exposed pinned copy", pinned);
  rig_end(&rig);
}

/* The other one is longer than the step it is behind. */
PD_TEST(ledger, a_batch_that_could_not_be_copied_ahead_came_late) { late_and_pinned(true, true, 15000, 7000); }
PD_TEST(ledger, without_copies_ahead_no_batch_is_late) { late_and_pinned(false, true, 0, 22000); }
PD_TEST(ledger, a_scenarios_own_copy_is_no_batch) { late_and_pinned(true, false, 0, 22000); }

/* A collective of 40 us, of which 12 us run beside a kernel, 8 us beside a copy and 20 us alone; then a kernel that
 * waits for it. It is neither a kernel nor one that another stream waits for. */
PD_TEST(ledger, a_collective_with_nothing_beside_it_is_communication) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t compute = fake_stream(rig.fake, 0, 1, 7), nccl = fake_stream(rig.fake, 0, 1, 20);
  fake_step(rig.fake, 0, 0, 100000);
  fake_range(rig.fake, PD_RANGE_USER, "train_step", 0, 0, 100000);
  for (uint64_t i = 0; i < 3; i++)
    fake_call(rig.fake, i == 2 ? PD_API_MEMCPY : PD_API_LAUNCH, "cuda", 0, (int64_t)i * 100, (int64_t)i * 100 + 100,
              i + 1);
  fake_call(rig.fake, PD_API_STREAM_WAIT, "cudaStreamWaitEvent", 0, 300, 400, 4);
  fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, 400, 500, 5);
  fake_kernel(rig.fake, "k", compute, 200, 22000, 1);
  fake_kernel(rig.fake, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", nccl, 10000, 50000, 2);
  fake_copy(rig.fake, PD_MEMORY_DEVICE, PD_MEMORY_DEVICE, 64, nccl, 22000, 30000, 3);
  fake_kernel(rig.fake, "k", compute, 50000, 90000, 5);
  rig_finish(&rig);
  owns(&rig, "Exposed communication", 20000);
  owns(&rig, "Exposed device copy or set", 8000);
  owns(&rig, "Kernels that another stream waits for", 0);
  owns(&rig, "Kernels", 21800 + 40000);
  rig_end(&rig);
}

PD_TEST(ledger, rows_add_up_to_the_steps_and_the_table_to_its_footer) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_trace_training(rig.fake, 2, 5);
  rig_finish(&rig);
  const pd_table *table = rig_table(&rig, "ledger_steps"), *sums = rig_table(&rig, "ledger");
  int64_t all = 0;
  cr_assert_eq(table->rows.count, 5);
  for (uint64_t s = 0; s < table->rows.count; s++) {
    const pd_table_row *row = rig_row_at(table, s);
    int64_t sum = 0;
    for (uint32_t c = 0; c < LEDGER_OWNER_COUNT; c++) {
      char key[64];
      snprintf(key, sizeof key, "ledger_%s", ledger_key(c));
      sum += rig_int(table, row, key);
    }
    cr_assert_eq(sum, rig_int(table, row, "step_span"));
  }
  for (uint64_t i = 0; i < sums->rows.count; i++) all += rig_int(sums, rig_row_at(sums, i), "total");
  cr_assert_eq(sums->rows.count, LEDGER_OWNER_COUNT);
  cr_assert_eq(all, rig_int(sums, sums->footer, "total"));
  rig_end(&rig);
}

PD_TEST(ledger, a_device_without_records_has_no_ledger) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_step(rig.fake, 0, 0, 100);
  rig_finish(&rig);
  rig.trace->profile = PD_PROFILE_NONE;
  const pd_table_set *set = rig_tables(&rig);
  for (uint32_t i = 0; i < set->count; i++) cr_assert_null(strstr(set->tables[i]->id, "ledger"));
  rig_end(&rig);
}
