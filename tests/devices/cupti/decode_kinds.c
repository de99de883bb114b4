/* Records of other kinds to activities: synchronisations, overheads, unwanted calls, nodes of graphs. */
#include "decode_rig.h"

static void add_sync(uint64_t start, uint64_t end) {
  const CUpti_ActivitySynchronization2 row = {.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
                                              .type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
                                              .start = start,
                                              .end = end,
                                              .correlationId = 8,
                                              .contextId = 2,
                                              .streamId = 7};
  add(&row, sizeof row);
}
static void add_overhead(uint64_t start, uint64_t end) {
  const CUpti_ActivityOverhead3 row = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD, .start = start, .end = end};
  add(&row, sizeof row);
}

PD_TEST(cupti_decode, takes_no_synchronisation_or_overhead_from_before_the_window) {
  open_decoder();
  cupti_decoder_window_close(&decoder);
  cupti_decoder_window_open(&decoder, 10000, true);
  add_sync(9999, 10500);
  add_overhead(9999, 10500);
  add_sync(10000, 10500);
  add_overhead(10000, 10600);
  decode();
  cr_assert_eq(record.count, 2);
  const pd_activity *sync = &record.rows[0], *overhead = &record.rows[1];
  cr_assert_eq(sync->kind, PD_ACTIVITY_SYNC);
  cr_assert_str_eq(record.names[sync->name], "Event Sync");
  cr_assert_eq(sync->start, 10000);
  cr_assert_eq(sync->end, 10500);
  cr_assert_eq(sync->correlation, 8);
  cr_assert_eq(sync->context, 2);
  cr_assert_eq(sync->stream, 7);
  cr_assert_eq(overhead->kind, PD_ACTIVITY_OVERHEAD);
  cr_assert_eq(overhead->start, 10000);
  cr_assert_eq(overhead->end, 10600);
  cr_assert_eq(decoder.counts.implausible + decoder.counts.zero_stamped, 0);
  close_decoder();
}

/* Times that cannot be, of what is no device work: none is handed on, each is counted. */
PD_TEST(cupti_decode, counts_bad_times_of_calls_synchronisations_and_overheads) {
  static const struct {
    uint64_t start, end;
  } rows[] = {{0, 0}, {0, 4000}, {3000, 0}, {4000, 3999}, {3000, UINT64_C(1) << 62}, {UINT64_MAX - 10, UINT64_MAX}};
  enum { ROWS = sizeof rows / sizeof rows[0], ZERO = 3 };
  open_decoder();
  for (uint32_t i = 0; i < ROWS; i++) {
    const CUpti_ActivityAPI call = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME,
                                    .cbid = 165,
                                    .start = rows[i].start,
                                    .end = rows[i].end,
                                    .threadId = 42,
                                    .correlationId = i + 1};
    add(&call, sizeof call);
    add_sync(rows[i].start, rows[i].end);
    add_overhead(rows[i].start, rows[i].end);
  }
  decode();
  cr_assert_eq(record.count, 0);
  cr_assert_eq(decoder.counts.zero_stamped, ZERO); /* of synchronisations */
  cr_assert_eq(decoder.counts.implausible, 3 * ROWS - ZERO);
  cr_assert_eq(record.lost[PD_LOSS_ZERO_TIMESTAMP], ZERO);
  cr_assert_eq(record.lost[PD_LOSS_IMPLAUSIBLE], 3 * ROWS - ZERO);
  close_decoder();
}

PD_TEST(cupti_decode, drops_calls_nobody_asked_for_and_counts_them) {
  open_decoder();
  add_call(3, 1);
  add_call(9999, 2);
  decode();
  cr_assert_eq(record.count, 0);
  cr_assert_eq(decoder.counts.unknown, 2);
  close_decoder();
}

PD_TEST(cupti_decode, frees_what_overhead_records_own) {
  open_decoder();
  for (int window = 0; window < 2; window++) {
    CUpti_ActivityOverhead3 row = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                   .overheadKind = CUPTI_ACTIVITY_OVERHEAD_CUPTI_INSTRUMENTATION,
                                   .objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
                                   .start = 3000,
                                   .end = 3100,
                                   .overheadData = malloc(64)};
    row.objectId.pt.threadId = 42;
    add(&row, sizeof row);
    decode();
    cupti_decoder_window_close(&decoder); /* the second one is freed without being handed on */
  }
  cr_assert_eq(record.count, 1);
  cr_assert_eq(record.rows[0].kind, PD_ACTIVITY_OVERHEAD);
  cr_assert_eq(record.rows[0].thread, 42);
  cr_assert_str_eq(record.names[record.rows[0].name], "Instrumentation");
  close_decoder();
}

PD_TEST(cupti_decode, names_every_kind_of_overhead) {
  static const struct {
    int kind;
    const char *name;
  } rows[] = {{0, "Unknown"},
              {1, "Driver Compiler"},
              {1 << 16, "Buffer Flush"},
              {2 << 16, "Instrumentation"},
              {3 << 16, "Resource"},
              {4 << 16, "Runtime Triggered Module Loading"},
              {5 << 16, "Lazy Function Loading"},
              {6 << 16, "Command Buffer Full"},
              {7 << 16, "Activity Buffer Request"},
              {8 << 16, "UVM Activity Init"},
              {99 << 16, "Unknown"}};
  open_decoder();
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const CUpti_ActivityOverhead3 row = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
                                         .overheadKind = (CUpti_ActivityOverheadKind)rows[i].kind,
                                         .start = 3000,
                                         .end = 3100};
    add(&row, sizeof row);
    decode();
    cr_assert_str_eq(record.names[record.rows[i].name], rows[i].name);
  }
  close_decoder();
}

PD_TEST(cupti_decode, learns_how_many_nodes_a_graph_has) {
  open_decoder();
  for (uint32_t launch = 1; launch <= 2; launch++) {
    add_call(311, launch);
    for (uint32_t node = 1; node <= (launch == 1 ? 5u : 3u); node++) {
      CUpti_ActivityKernel10 row = kernel_row(launch, "_Z1kv", 3000, 4000);
      row.graphId = 8;
      row.graphNodeId = (uint64_t)8 << 32 | node;
      add(&row, sizeof row);
    }
    decode();
    cr_assert_eq(cupti_decoder_settle(&decoder), launch == 1); /* of the second, two are due */
  }
  for (uint32_t node = 4; node <= 5; node++) {
    CUpti_ActivityKernel10 row = kernel_row(2, "_Z1kv", 3000, 4000);
    row.graphId = 8;
    add(&row, sizeof row);
  }
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  close_decoder();
}

/* A record that waits for the window's end stands for one node, not for all that the graph still owes. */
PD_TEST(cupti_decode, waits_for_a_graphs_nodes_beside_early_records) {
  open_decoder();
  for (uint32_t launch = 1; launch <= 2; launch++) {
    cupti_decoder_window_close(&decoder);
    cupti_decoder_window_open(&decoder, 10000, true);
    add_call_at(false, 311, launch, 10050, 42);
    for (uint32_t node = 1; node <= 3; node++) {
      CUpti_ActivityKernel10 row = kernel_row(launch, "_Z1kv", launch == 2 && node == 1 ? 9990 : 11000, 12000);
      row.graphId = 8;
      row.graphNodeId = (uint64_t)8 << 32 | node;
      add(&row, sizeof row);
      decode();
      if (launch == 2 && node > 1) cr_assert_eq(cupti_decoder_settle(&decoder), node == 3, "node %u", node);
    }
    cr_assert(cupti_decoder_settle(&decoder));
  }
  cupti_decoder_window_close(&decoder);
  cr_assert_eq(decoder.counts.early, 1);
  cupti_decoder_window_open(&decoder, 10000, true);
  add_call_at(false, 311, 3, 10050, 42);
  add_call_at(false, 211, 4, 10060, 42);
  for (int node = 0; node < 3; node++) {
    CUpti_ActivityKernel10 row = kernel_row(3, "_Z1kv", 9990, 9995);
    row.graphId = 8;
    add(&row, sizeof row);
  }
  decode();
  cr_assert_not(cupti_decoder_settle(&decoder)); /* the graph's three are not the launch's */
  close_decoder();
}

PD_TEST(cupti_decode, works_without_a_recorder) {
  open_decoder();
  decoder.record = NULL;
  add_call(211, 1);
  add_kernel(1, "_Z1kv", 3000, 4000);
  add_kernel(2, "_Z1kv", 0, 0);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(decoder.counts.handed_on, 2);
  cr_assert_eq(decoder.counts.zero_stamped, 1);
  close_decoder();
}
