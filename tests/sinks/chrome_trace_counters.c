/* The counters of a Chrome trace: losses, memory, the ledger, queue and busy streams. */
#include "chrome_trace_reader.h"

PD_TEST(sink_chrome_trace, losses_are_marks_and_numbers) {
  written out;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 2, 1);
  pd_trace *trace = fake_trace_finish(fake);
  const pd_loss_row rows[] = {{.start_ns = 5000, .end_ns = 7500, .count = 10, .loss = PD_LOSS_RANGES_FULL},
                              {.start_ns = 9000, .end_ns = 9000, .count = 2, .loss = PD_LOSS_RANGES_FULL}};
  trace->losses[PD_LOSS_RANGES_FULL] = 12;
  trace->loss_rows = (pd_array){rows, 2, sizeof rows[0]};
  write_parsed(&out, trace, NULL);
  const json_node *mark = find(out.events, "i", "pdhost", "lost: 10 host ranges lost to a full buffer");
  cr_assert_not_null(mark);
  cr_assert_eq(argument(mark, "count")->number, 10);
  cr_assert_float_eq(argument(mark, "until_us")->number - number(mark, "ts"), 2.5, 1e-6, "it stands where it happened");
  cr_assert_not_null(find(out.events, "i", "pdhost", "lost: 2 host ranges lost to a full buffer"));
  const json_node *own = json_reader_get(out.root, "pdhost");
  cr_assert_eq(number(json_reader_get(own, "lost"), "RANGES_FULL"), 12);
  cr_assert_eq(number(own, "coverage"), 1);
  cr_assert(json_reader_is(json_reader_get(json_reader_get(own, "configuration"), "data.batch_size"), "4"));
  cr_assert_eq(number(own, "events"), (double)out.events->count);
  drop(&out);
  fake_trace_close(fake);
}

static const json_node *memory_argument(const json_node *events, size_t which, const char *key) {
  const json_node *event = events->first;
  for (; event; event = event->next)
    if (is_event(event, "i", "cpu_instant_event", "[memory]") && !which--) break;
  return event ? argument(event, key) : NULL;
}

/* TensorBoard's plugin has no Memory view without a record, and no curve of one point. */
PD_TEST(sink_chrome_trace, a_window_without_allocations_says_what_lives) {
  written out;
  fake_trace *fake = open_fake();
  fake_step(fake, 1, MS(1), MS(3));
  pd_trace *trace = fake_trace_finish(fake);
  trace->start_ns = MS(1);
  trace->end_ns = MS(3);
  trace->start_allocated_bytes = 4096;
  trace->start_reserved_bytes = 8192;
  write_parsed(&out, trace, NULL);
  cr_assert_eq(count(out.events, "i", NULL, "[memory]"), 2);
  cr_assert_eq(memory_argument(out.events, 0, "Bytes")->number, 4096);
  cr_assert_eq(memory_argument(out.events, 0, "Total Allocated")->number, 4096);
  cr_assert_eq(memory_argument(out.events, 0, "Total Reserved")->number, 8192);
  cr_assert_eq(memory_argument(out.events, 1, "Bytes")->number, 0);
  cr_assert_eq(memory_argument(out.events, 1, "Total Allocated")->number, 4096);
  const json_node *sample = find(out.events, "C", NULL, "GPU 0 memory");
  cr_assert_eq(as_ns(sample, "ts"), MS(1));
  cr_assert_eq(argument(sample, "allocated")->number, 4096);
  drop(&out);
  trace->size = offsetof(pd_trace, start_allocated_bytes); /* of a host that does not know */
  write_parsed(&out, trace, NULL);
  cr_assert_eq(count(out.events, "i", NULL, "[memory]"), 0);
  cr_assert_eq(count(out.events, "C", NULL, "GPU 0 memory"), 0);
  drop(&out);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace, every_part_begins_with_what_lives) {
  written out;
  fake_trace *fake = open_fake();
  for (uint64_t i = 0; i < 3; i++) fake_step(fake, i, MS((double)i), MS((double)i + 1));
  fake_memory(fake, 0, MS(0.5), 16, 100, 1100, 2000);
  fake_memory(fake, 0, MS(1.5), 32, 10, 1110, 2000);
  write_trace(&out, fake_trace_finish(fake), (const char *[]){"split_size=1", NULL});
  cr_assert_eq(out.run.count, 3);
  static const double expected[3][2] = {{1000, 100}, {1100, 10}, {1110, 0}};
  for (uint32_t i = 0; i < 3; i++) {
    json_node *root = json_reader_parse(out.run.all[i]->data, out.run.all[i]->bytes);
    const json_node *events = json_reader_get(root, "traceEvents");
    cr_assert_eq(count(events, "i", NULL, "[memory]"), 2);
    for (size_t k = 0; k < 2; k++) cr_assert_eq(memory_argument(events, k, "Bytes")->number, expected[i][k]);
    json_reader_free(root);
  }
  drop(&out);
  fake_trace_close(fake);
}

/* Two steps; of three causes one owns nothing, and other columns are none. */
static const pd_table_set *ledger_of_two(const pd_analysis *analysis, const pd_trace *trace,
                                         const pd_table_request *request) {
  static const pd_metric metrics[] = {{.key = "step", .unit = PD_UNIT_COUNT},
                                      {.key = "ledger_compute", .unit = PD_UNIT_NS},
                                      {.key = "ledger_unknown", .unit = PD_UNIT_NS},
                                      {.key = "ledger_launch", .unit = PD_UNIT_NS}};
  static const pd_metric *const columns[] = {&metrics[0], &metrics[1], &metrics[2], &metrics[3]};
  static const pd_cell cells[2][4] = {{{.v.i = 7}, {.v.i = 1500}, {.v.i = 0}, {.v.i = 0}},
                                      {{.v.i = 8}, {.v.i = 0}, {.v.i = 0}, {.v.i = 2000001}}};
  static const pd_table_row rows[] = {{cells[0], 0, 0}, {cells[1], 0, 0}};
  static const pd_table ledger = {.size = sizeof ledger,
                                  .column_count = 4,
                                  .id = "ledger_steps",
                                  .title = "Ledger",
                                  .columns = columns,
                                  .rows = {rows, 2, sizeof *rows}};
  static const pd_table *const tables[] = {&ledger};
  static const pd_table_set set = {sizeof set, 1, tables};
  (void)analysis;
  (void)trace;
  (void)request;
  return &set;
}

PD_TEST(sink_chrome_trace, the_ledger_is_a_counter_track) {
  static const pd_analysis analysis = {.size = sizeof analysis, .tables = ledger_of_two};
  for (int on = 0; on < 2; on++) {
    sink_run run;
    fake_trace *fake = open_fake();
    fake_step(fake, 7, MS(0), MS(1));
    fake_step(fake, 8, MS(1), MS(3));
    cr_assert(sink_run_load(&run, SINK_PATH, (const char *[]){on ? "counters=few" : "counters=none", NULL}));
    test_host_add(&run.host, PD_EXT_ANALYSIS, &analysis);
    cr_assert_eq(sink_run_open(&run, fake_run("traces")), PD_OK);
    cr_assert_eq(sink_run_trace(&run, fake_trace_finish(fake)), PD_OK);
    cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
    json_node *root = json_reader_parse(run.all[0]->data, run.all[0]->bytes);
    const json_node *events = json_reader_get(root, "traceEvents");
    const json_node *sample = find(events, "C", NULL, "GPU 0 ledger");
    cr_assert_eq(sample != NULL, on);
    for (int i = 0; on && i < 3; i++) { /* two steps, and nothing when they are over */
      static const double compute[] = {1.5, 0, 0}, launch[] = {0, 2000.001, 0};
      static const int64_t at_ns[] = {MS(0), MS(1), MS(3)};
      cr_assert_eq(as_ns(sample, "ts"), at_ns[i]);
      cr_assert_float_eq(argument(sample, "compute")->number, compute[i], 1e-9);
      cr_assert_float_eq(argument(sample, "launch")->number, launch[i], 1e-9);
      cr_assert_null(argument(sample, "unknown"));
      sample = sample->next;
    }
    json_reader_free(root);
    sink_run_unload(&run);
    fake_trace_close(fake);
  }
}

PD_TEST(sink_chrome_trace, counters_may_be_fewer_or_none) {
  static const struct {
    const char *setting;
    bool queue, memory;
  } modes[] = {{"counters=all", true, true}, {"counters=few", false, true}, {"counters=none", false, false}};
  written out;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 2, 1);
  const pd_trace *trace = fake_trace_finish(fake);
  for (size_t i = 0; i < 3; i++) {
    write_parsed(&out, trace, (const char *[]){modes[i].setting, NULL});
    cr_assert_eq(find(out.events, "C", NULL, "GPU 0 queue depth") != NULL, modes[i].queue);
    cr_assert_eq(find(out.events, "C", NULL, "GPU 0 busy") != NULL, modes[i].queue);
    cr_assert_eq(find(out.events, "C", NULL, "GPU 0 memory") != NULL, modes[i].memory);
    cr_assert_eq(count(out.events, "C", NULL, NULL) > 0, modes[i].memory);
    drop(&out);
  }
  fake_trace_close(fake);
}

/* Launches out of order, kernels at the same moment, one without a launch, on two streams. */
PD_TEST(sink_chrome_trace, queue_and_busy_follow_every_change) {
  written out;
  fake_trace *fake = open_fake();
  const uint32_t first = fake_stream(fake, 0, 1, 7), second = fake_stream(fake, 0, 1, 9);
  fake_step(fake, 1, 0, MS(20));
  for (uint64_t i = 0; i < 3; i++)
    fake_call(fake, PD_API_LAUNCH, "cudaLaunchKernel", 0, MS(1 + (double)i), MS(1.5 + (double)i), 1 + i);
  fake_kernel(fake, "late()", first, MS(6), MS(7), 1);
  fake_kernel(fake, "early()", second, MS(4), MS(9), 2);
  fake_kernel(fake, "touching()", first, MS(9), MS(10), 3);
  fake_kernel(fake, "nobody's()", first, MS(12), MS(13), 99);
  write_parsed(&out, fake_trace_finish(fake), NULL);
  static const int64_t queue[][2] = {{MS(1), 1}, {MS(2), 2}, {MS(3), 3}, {MS(4), 2}, {MS(6), 1}, {MS(9), 0}};
  static const int64_t busy[][2] = {{MS(1), 0}, {MS(4), 1}, {MS(10), 0}, {MS(12), 1}, {MS(13), 0}};
  size_t seen_queue = 0, seen_busy = 0;
  for (const json_node *event = out.events->first; event; event = event->next) {
    const bool is_queue = is_event(event, "C", NULL, "GPU 0 queue depth");
    if (!is_queue && !is_event(event, "C", NULL, "GPU 0 busy")) continue;
    const int64_t *expected = is_queue ? queue[seen_queue++] : busy[seen_busy++];
    cr_assert(seen_queue <= 6 && seen_busy <= 5);
    cr_assert_eq(as_ns(event, "ts"), expected[0]);
    cr_assert_eq(argument(event, "value")->number, (double)expected[1]);
  }
  cr_assert_eq(seen_queue, 6);
  cr_assert_eq(seen_busy, 5);
  drop(&out);
  fake_trace_close(fake);
}
