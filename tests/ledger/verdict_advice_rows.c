/* The verdict: what it suggests, and what it does not. */
#include "verdict_rig.h"

#include "ledger/cures.h"

/* Two workers, each of which makes three batches, one after the other. */
static void add_workers(analysis_rig *rig, int64_t batch_ns) {
  for (uint32_t w = 0; w < 2; w++) {
    const uint32_t worker = fake_thread(rig->fake, 4243 + w, w ? "pdhost loader 1" : "pdhost loader 0");
    for (int64_t b = 0; b < 3; b++)
      fake_range(rig->fake, PD_RANGE_WORKER, "DataLoader worker: batch", worker, b * batch_ns, (b + 1) * batch_ns);
  }
}

/* Two workers make batches in 200 us each, one after the other, for steps of 100 us, of which the device works 60. */
PD_TEST(verdict, the_loader_sets_the_pace_whatever_else_is_removed) {
  analysis_rig rig;
  rig_begin(&rig);
  const uint32_t stream = fake_stream(rig.fake, 0, 1, 7);
  for (uint64_t s = 0; s < 6; s++) {
    const int64_t at = (int64_t)s * 100000, train = at + 40000;
    fake_step(rig.fake, s, at, at + 100000);
    fake_range(rig.fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, at, train);
    fake_call(rig.fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, train, train + 1000, s + 1);
    fake_kernel(rig.fake, "k", stream, train + 1000, at + 100000, s + 1);
  }
  add_workers(&rig, 200000);
  rig_finish(&rig);
  const char *note = rig_table(&rig, "gains")->note;
  cr_assert(strstr(note, "The loader's workers need 100.0 us for a batch: with as many of them a step takes no less"),
            "%s", note);
  rig_end(&rig);
}

/* The host launches all through steps of 100 us, and waits for no batch. Two workers make them. */
static void launching_beside_workers(analysis_rig *rig, int64_t batch_ns) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 6; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig->fake, s, at, at + 100000);
    fake_range(rig->fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, at, at + 500);
    for (uint32_t k = 0; k < 10; k++) {
      const int64_t call = at + 1000 + k * 9900;
      fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, call, call + 9900, s * 10 + k + 1);
      fake_kernel(rig->fake, "k", stream, call + 9900, call + 11900, s * 10 + k + 1);
    }
  }
  add_workers(rig, batch_ns);
  rig_finish(rig);
}

/* The evidence speaks of the workers only where they need about as long as the loop. */
PD_TEST(verdict, the_evidence_has_a_loader_as_slow_as_the_loop) {
  for (int as_slow = 0; as_slow < 2; as_slow++) {
    analysis_rig rig;
    launching_beside_workers(&rig, as_slow ? 196000 : 100000);
    const pd_table *table;
    const pd_table_row *row = verdict_row(&rig, &table);
    const char *evidence = rig_text(table, row, "verdict_evidence");
    cr_assert_str_eq(rig_text(table, row, "verdict_cause"), as_slow ? "none" : "launch_bound");
    cr_assert_eq(strstr(evidence, "the loader's workers need 98.0 us for a batch, and with as many") != NULL, as_slow,
                 "%s", evidence);
    rig_end(&rig);
  }
}

/* Without the recorder the steps would take 80 us, and a batch takes 98. */
PD_TEST(verdict, a_loader_that_the_recorder_hides_is_only_possible) {
  analysis_rig rig;
  launching_beside_workers(&rig, 196000);
  rig.trace->twin = (pd_twin){.step_ns = 80000, .added_ns = 20000, .low_ns = 19000, .high_ns = 21000, .rounds = 8};
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_eq(strncmp(rig_text(table, row, "verdict"), "possibly input-bound", 20), 0, "%s",
               rig_text(table, row, "verdict"));
  cr_assert_not_null(
      strstr(rig_text(table, row, "verdict_evidence"),
             "; the loader's workers need 98.0 us for a batch: the loop was slow enough to wait for none "
             "while it was recorded"));
  rig.request.corrected = 1;
  cr_assert_not_null(strstr(rig_table(&rig, "corrected")->note, "The loader's workers need 98.0 us for a batch, so"));
  rig_end(&rig);
}

/* A worker makes a batch of `batch_us`, of which it reads `read_us`, for each of five steps of 60 us of work. */
static void loaded_steps(analysis_rig *rig, int64_t batch_us, int64_t read_us, uint32_t cores) {
  rig_begin(rig);
  const uint32_t worker = fake_thread(rig->fake, 4243, "pdhost loader 0"), stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t length = (batch_us + 60) * 1000, at = (int64_t)s * length, train = at + batch_us * 1000;
    fake_step(rig->fake, s, at, at + length);
    fake_range(rig->fake, PD_RANGE_DATALOADER, "enumerate(DataLoader)#_pdhost.__next__", 0, at, train);
    fake_range(rig->fake, PD_RANGE_WORKER, "DataLoader worker: batch", worker, at, train);
    fake_range(rig->fake, PD_RANGE_WORKER, "DataLoader worker: read", worker, at, at + read_us * 1000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, train, at + length);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, train, train + 1000, s + 1);
    fake_kernel(rig->fake, "k", stream, train + 1000, at + length, s + 1);
  }
  rig_finish(rig);
  analysis_close(rig->analysis);
  const analysis_context context = {
      .device = fake_device(), .cores = cores, .command_line = "pdhost -c x.ini", .with_flops = true};
  cr_assert_eq(analysis_open(&context, &rig->analysis), PD_OK);
}

static void expect_next(analysis_rig *rig, const char *cause, const char *overrides, const char *next) {
  const pd_table *table;
  const pd_table_row *row = verdict_row(rig, &table);
  cr_assert_str_eq(rig_text(table, row, "verdict_cause"), cause);
  cr_assert_str_eq(rig_text(table, row, "verdict_next"), next);
  if (overrides)
    cr_assert_str_eq(rig_text(table, row, "verdict_overrides"), overrides);
  else
    cr_assert(rig_cell(table, row, "verdict_overrides")->missing);
  rig_end(rig);
}

PD_TEST(verdict, as_many_workers_as_reading_needs) {
  analysis_rig rig;
  loaded_steps(&rig, 600, 560, 2); /* 12.5 of them would just do */
  expect_next(&rig, "input_bound", "data.num_workers=15 data.prefetch_factor=4",
              "pdhost -c x.ini --num_workers 15 --prefetch_factor 4");
}

PD_TEST(verdict, workers_without_a_core_each_are_no_cure) {
  analysis_rig rig;
  loaded_steps(&rig, 600, 100, 2); /* 500 us of work in 60 us */
  expect_next(&rig, "input_bound", "data.resident=device", "pdhost -c x.ini -o data.resident=device");
}

PD_TEST(verdict, with_cores_they_are) {
  analysis_rig rig;
  loaded_steps(&rig, 600, 100, 12);
  expect_next(&rig, "input_bound", "data.num_workers=15 data.prefetch_factor=4",
              "pdhost -c x.ini --num_workers 15 --prefetch_factor 4");
}

PD_TEST(verdict, nor_are_hundreds_of_workers) {
  analysis_rig rig;
  loaded_steps(&rig, 60000, 59990, 64);
  expect_next(&rig, "input_bound", "data.resident=device", "pdhost -c x.ini -o data.resident=device");
}

static void judge_with(analysis_rig *rig, const analysis_context *context) {
  analysis_close(rig->analysis);
  cr_assert_eq(analysis_open(context, &rig->analysis), PD_OK);
}

PD_TEST(verdict, nor_as_many_workers_as_there_are) {
  for (int64_t workers = 14; workers <= 15; workers++) {
    analysis_rig rig;
    loaded_steps(&rig, 600, 560, 2);
    judge_with(&rig, &(analysis_context){.device = fake_device(), .cores = 2, .num_workers = workers});
    const bool are_more = workers < 15;
    expect_next(&rig, "input_bound", are_more ? "data.num_workers=15 data.prefetch_factor=4" : "data.resident=device",
                are_more ? "pdhost --num_workers 15 --prefetch_factor 4" : "pdhost -o data.resident=device");
  }
}

/* Five steps of 100 us, half of them idle while the host is between launches. */
static void steps_of_launches(analysis_rig *rig) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig->fake, s, at, at + 100000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 50000, s + 1);
    fake_kernel(rig->fake, "k", stream, at + 50000, at + 100000, s + 1);
  }
  rig_finish(rig);
}

/* Five steps of 100 us in which one owner has 60: `call`, a copy of memory `from`, or nothing but a kernel. */
static void steps_of(analysis_rig *rig, pd_api_class call, pd_memory_kind from) {
  rig_begin(rig);
  const uint32_t stream = fake_stream(rig->fake, 0, 1, 7);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig->fake, s, at, at + 100000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    if (call == PD_API_MEMCPY) {
      fake_call(rig->fake, call, "cudaMemcpyAsync", 0, at, at + 1000, 2 * s + 1);
      fake_copy(rig->fake, from, PD_MEMORY_DEVICE, 4096, stream, at + 1000, at + 61000, 2 * s + 1);
    }
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 1000, at + 2000, 2 * s + 2);
    fake_kernel(rig->fake, "k", stream, at + (call ? 61000 : 2000), at + 100000, 2 * s + 2);
    fake_call(rig->fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, at + 2000, at + 100000, 1000 + s);
  }
  rig_finish(rig);
}

/* What is suggested is what the run could have and does not, and what the replay predicts. */
PD_TEST(verdict, nothing_that_the_run_cannot_have_is_suggested) {
  static const struct {
    const char *cause;
    pd_offers offers;
    const char *settings, *next;
  } cases[] = {
      {"none", PD_OFFER_AMP | PD_OFFER_CHANNELS_LAST, NULL, "pdhost -o profile.with_stack=true"},
      {"none", 0, NULL, "pdhost -o profile.with_stack=true"},
      {"launch_bound", PD_OFFER_CUDA_GRAPH | PD_OFFER_FUSED, "train.cuda_graph=true",
       "pdhost -o train.cuda_graph=true"},
      {"launch_bound", PD_OFFER_UNREAD_GRAPH, "train.scaler_sync=false train.cuda_graph=true",
       "pdhost -o train.scaler_sync=false -o train.cuda_graph=true"},
      {"launch_bound", PD_OFFER_FUSED, NULL, "pdhost -o profile.with_stack=true"},
      {"launch_bound", PD_OFFER_AMP, NULL, "pdhost -o profile.with_stack=true"},
      {"pageable_copy", PD_OFFER_PIN_MEMORY | PD_OFFER_PREFETCH, "data.pin_memory=true data.prefetch_to_device=true",
       "pdhost --pin_memory -o data.prefetch_to_device=true"},
      {"pageable_copy", PD_OFFER_PIN_MEMORY, NULL, "pdhost -o profile.with_stack=true"},
      {"pageable_copy", PD_OFFER_PREFETCH, NULL, "pdhost -o profile.with_stack=true"},
      {"pinned_copy", PD_OFFER_PREFETCH, "data.prefetch_to_device=true", "pdhost -o data.prefetch_to_device=true"},
      {"pinned_copy", PD_OFFER_PIN_MEMORY, NULL, "pdhost -o profile.with_stack=true"},
      {"input_bound", PD_OFFER_RESIDENT, "data.resident=device", "pdhost -o data.resident=device"},
      {"input_bound", PD_OFFER_FUSED, NULL, "pdhost -o profile.with_stack=true"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    analysis_rig rig;
    const char *cause = cases[i].cause;
    if (!strcmp(cause, "input_bound"))
      loaded_steps(&rig, 600, 100, 2);
    else if (!strcmp(cause, "launch_bound"))
      steps_of_launches(&rig);
    else if (!strcmp(cause, "none"))
      steps_of(&rig, 0, 0);
    else
      steps_of(&rig, PD_API_MEMCPY, !strcmp(cause, "pinned_copy") ? PD_MEMORY_PINNED : PD_MEMORY_PAGEABLE);
    judge_with(&rig,
               &(analysis_context){.device = fake_device(), .cores = 2, .offers = PD_OFFER_KNOWN | cases[i].offers});
    expect_next(&rig, cause, cases[i].settings, cases[i].next);
  }
}

/* Five steps of 100 us; for 60 of them a kernel of stream 8 runs, and that of stream 7 waits. */
static void waiting_steps(analysis_rig *rig, const pd_cure *cures) {
  rig_begin(rig);
  const uint32_t own = fake_stream(rig->fake, 0, 1, 7), other = fake_stream(rig->fake, 0, 1, 8);
  for (uint64_t s = 0; s < 5; s++) {
    const int64_t at = (int64_t)s * 100000;
    fake_step(rig->fake, s, at, at + 100000);
    fake_range(rig->fake, PD_RANGE_USER, "train_step", 0, at, at + 100000);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at, at + 1000, 2 * s + 1);
    fake_call(rig->fake, PD_API_OTHER, "cudaEventRecord", 0, at + 1000, at + 1000, 0);
    fake_call(rig->fake, PD_API_STREAM_WAIT, "cudaStreamWaitEvent", 0, at + 1000, at + 2000, 0);
    fake_call(rig->fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, at + 2000, at + 3000, 2 * s + 2);
    fake_kernel(rig->fake, "side", other, at + 3000, at + 43000, 2 * s + 1);
    fake_kernel(rig->fake, "k", own, at + 43000, at + 100000, 2 * s + 2);
    fake_call(rig->fake, PD_API_SYNC, "cudaDeviceSynchronize", 0, at + 3000, at + 100000, 1000 + s);
  }
  rig_finish(rig);
  analysis_close(rig->analysis);
  const analysis_context context = {.device = fake_device(), .cores = 2, .cures = cures};
  cr_assert_eq(analysis_open(&context, &rig->analysis), PD_OK);
}

PD_TEST(verdict, names_streams_that_wait_and_the_scenarios_cure) {
  static const pd_cure cures[] = {
      {"forced_sync", "scenario.x=1"}, {"serial_streams", "scenario.serial=false scenario.y=2"}, {NULL, NULL}};
  analysis_rig rig;
  waiting_steps(&rig, cures);
  const pd_table *table;
  const pd_table_row *row = verdict_row(&rig, &table);
  cr_assert_float_eq(rig_double(table, row, "verdict_share"), 38.0, 1e-9); /* 2 us of calls and 3 of latency, then 57 */
  cr_assert_eq(rig_int(table, row, "verdict_expected"), 62000);
  cr_assert_not_null(strstr(rig_text(table, row, "verdict_evidence"), "of one stream run for 40.0 us a step while"));
  expect_next(&rig, "serial_streams", "scenario.serial=false scenario.y=2",
              "pdhost -o scenario.serial=false -o scenario.y=2");
}

PD_TEST(verdict, without_a_cure_it_looks_closer) {
  analysis_rig rig;
  waiting_steps(&rig, NULL);
  expect_next(&rig, "serial_streams", NULL, "pdhost -o profile.with_stack=true");
}

/* One table says what takes a cause away; what no replay predicts stands behind the rest, with the reason. */
PD_TEST(verdict, a_cause_has_all_its_cures) {
  static const pd_cure own[] = {{"pageable_copy", "scenario.copies=0"}, {NULL, NULL}};
  arena memory = {0};
  const verdict_setting setting = {.cures = own,
                                   .offers = PD_OFFER_KNOWN | PD_OFFER_CUDA_GRAPH | PD_OFFER_FUSED |
                                             PD_OFFER_PIN_MEMORY | PD_OFFER_PREFETCH | PD_OFFER_RESIDENT,
                                   .arena = &memory};
  cure found[CURES_MOST];
  cr_assert_eq(cures_find(&setting, VERDICT_launch_bound, found), 2);
  cr_assert_str_eq(found[0].settings, "train.cuda_graph=true");
  cr_assert_null(found[0].unpredicted);
  cr_assert_str_eq(found[1].settings, "train.fused=true");
  cr_assert_not_null(strstr(found[1].unpredicted, "no replay can tell"));
  cr_assert_eq(cures_find(&setting, VERDICT_pageable_copy, found), 2);
  cr_assert_str_eq(found[0].settings, "scenario.copies=0");
  cr_assert_str_eq(found[1].settings, "data.pin_memory=true data.prefetch_to_device=true");
  cr_assert_eq(cures_find(&setting, VERDICT_input_bound, found), 1); /* before anything was recorded */
  cr_assert_str_eq(found[0].settings, "data.resident=device");
  cr_assert_eq(cures_find(&setting, VERDICT_device_side, found), 0);
  arena_free(&memory);
}

PD_TEST(verdict, a_graph_without_the_scalers_read_saves_that_too) {
  arena memory = {0};
  const gains of = {.unsynced = 0.1, .causes[VERDICT_launch_bound] = {.gain = 0.2, .captured = 0.1}};
  const verdict_setting setting = {.gains = &of, .offers = PD_OFFER_KNOWN | PD_OFFER_UNREAD_GRAPH, .arena = &memory};
  cure found[CURES_MOST];
  cr_assert_eq(cures_find(&setting, VERDICT_launch_bound, found), 1);
  cr_assert_float_eq(cure_saves(&found[0], 0.2), 0.2, 1e-12);
  cr_assert(found[0].unblocks);
  const verdict_setting unknown = {.gains = &of, .is_cuda = true, .arena = &memory};
  cr_assert_eq(cures_find(&unknown, VERDICT_launch_bound, found), 2);
  for (int i = 0; i < 2; i++) cr_assert(!strstr(found[i].settings, "scaler") && !found[i].unblocks);
  arena_free(&memory);
}

/* The gain of blocking calls is that of all of them, so the cure takes the scaler's read away, too. */
PD_TEST(verdict, a_cure_of_blocking_calls_stops_the_scalers_read) {
  static const pd_cure own[] = {{"forced_sync", "scenario.reads_per_step=0"}, {NULL, NULL}};
  static const struct {
    const pd_cure *cures;
    pd_offers offers;
    const char *settings;
  } cases[] = {{own, PD_OFFER_UNREAD_SCALER, "scenario.reads_per_step=0 train.scaler_sync=false"},
               {NULL, PD_OFFER_UNREAD_SCALER, "train.scaler_sync=false"},
               {own, 0, "scenario.reads_per_step=0"},
               {NULL, 0, NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    arena memory = {0};
    const verdict_setting setting = {
        .cures = cases[i].cures, .offers = PD_OFFER_KNOWN | cases[i].offers, .arena = &memory};
    cure found[CURES_MOST];
    cr_assert_eq(cures_find(&setting, VERDICT_forced_sync, found), cases[i].settings ? 1 : 0);
    if (cases[i].settings) cr_assert_str_eq(found[0].settings, cases[i].settings);
    cr_assert_eq(cures_find(&setting, VERDICT_allocator, found), 0);
    arena_free(&memory);
  }
  arena memory = {0};
  const verdict_setting unknown = {.is_cuda = true, .arena = &memory};
  cure found[CURES_MOST];
  cr_assert_eq(cures_find(&unknown, VERDICT_forced_sync, found), 0, "not known to have a scaler");
  arena_free(&memory);
}

PD_TEST(verdict, batches_on_the_device_save_their_copies_too) {
  arena memory = {0};
  const gains of = {.uncopied = 0.3};
  const verdict_setting setting = {.gains = &of, .offers = PD_OFFER_KNOWN | PD_OFFER_RESIDENT, .arena = &memory};
  cure found[CURES_MOST];
  cr_assert_eq(cures_find(&setting, VERDICT_input_bound, found), 1);
  cr_assert_float_eq(cure_saves(&found[0], 0.2), 0.5, 1e-12);
  cr_assert_float_eq(cure_saves(&found[0], -0.05), 0.25, 1e-12, "a loop that never waits, but copies");
  arena_free(&memory);
}
