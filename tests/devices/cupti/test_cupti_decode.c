/* Records to activities: fields, orders, names, ids, bad times, losses. Buffers are written by hand. */
#include "decode_rig.h"

#include <stdio.h>

PD_TEST(cupti_decode, hands_a_launch_and_its_kernel_on) {
  open_decoder();
  CUpti_ActivityKernel10 row = kernel_row(5, "_Z5scaleIfEvPT_i", 3000, 4000);
  row.graphId = 9;
  row.graphNodeId = (uint64_t)9 << 32 | 11;
  add(&row, sizeof row);
  add_call(505, 5);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(record.count, 2);
  const pd_activity *call = &record.rows[0], *kernel = &record.rows[1];
  cr_assert_eq(call->kind, PD_ACTIVITY_RUNTIME);
  cr_assert_str_eq(record.names[call->name], "cudaLaunchKernel");
  cr_assert_eq(call->start, 2000);
  cr_assert_eq(call->end, 2100);
  cr_assert_eq(call->thread, 42);
  cr_assert_eq(call->correlation, 5);
  cr_assert_eq(call->u.api.cbid, 505);
  cr_assert_eq(call->u.api.api, PD_API_LAUNCH);
  cr_assert_eq(call->u.api.result, 0);
  cr_assert_eq(kernel->kind, PD_ACTIVITY_KERNEL);
  cr_assert_str_eq(record.names[kernel->name], "void scale<float>(float*, int)");
  cr_assert_eq(kernel->start, 3000);
  cr_assert_eq(kernel->end, 4000);
  cr_assert_eq(kernel->correlation, 5);
  cr_assert_eq(kernel->device, 1);
  cr_assert_eq(kernel->context, 2);
  cr_assert_eq(kernel->stream, 7);
  cr_assert_eq(kernel->thread, 0);
  cr_assert_eq(kernel->bytes, 0);
  static const uint32_t grid[3] = {63, 17, 3}, block[3] = {32, 8, 4};
  for (int i = 0; i < 3; i++) {
    cr_assert_eq(kernel->u.kernel.grid[i], grid[i]);
    cr_assert_eq(kernel->u.kernel.block[i], block[i]);
  }
  cr_assert_eq(kernel->u.kernel.registers, 16);
  cr_assert_eq(kernel->u.kernel.static_bytes, 512);
  cr_assert_eq(kernel->u.kernel.dynamic_bytes, 1024);
  cr_assert_eq(kernel->u.kernel.graph, 9);
  cr_assert_eq(kernel->u.kernel.graph_node, 11);
  const float blocks = 63.0f * 17 * 3 / 132;
  cr_assert_float_eq(kernel->u.kernel.blocks_per_sm, blocks, 1e-5);
  cr_assert_float_eq(kernel->u.kernel.warps_per_sm, blocks * 32, 1e-3);
  cr_assert_eq(kernel->u.kernel.active_blocks, 2); /* of 1024 threads each */
  cr_assert_float_eq(kernel->u.kernel.waves, blocks / 2, 1e-5);
  cr_assert_float_eq(kernel->u.kernel.occupancy, 1.0, 1e-6);
  close_decoder();
}

PD_TEST(cupti_decode, hands_copies_sets_and_peers_on) {
  open_decoder();
  const CUpti_ActivityMemcpy6 copy = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY,
                                      .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE,
                                      .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC,
                                      .bytes = 77,
                                      .start = 3001,
                                      .end = 3011,
                                      .deviceId = 21,
                                      .contextId = 31,
                                      .streamId = 41,
                                      .correlationId = 1,
                                      .graphId = 51,
                                      .graphNodeId = (uint64_t)51 << 32 | 61};
  const CUpti_ActivityMemcpyPtoP4 peer = {.kind = CUPTI_ACTIVITY_KIND_MEMCPY2,
                                          .srcKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE,
                                          .dstKind = CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC,
                                          .bytes = 78,
                                          .start = 3002,
                                          .end = 3012,
                                          .deviceId = 22,
                                          .contextId = 32,
                                          .streamId = 42,
                                          .correlationId = 2,
                                          .graphId = 52,
                                          .graphNodeId = (uint64_t)52 << 32 | 62};
  const CUpti_ActivityMemset4 set = {.kind = CUPTI_ACTIVITY_KIND_MEMSET,
                                     .memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED,
                                     .bytes = 79,
                                     .start = 3003,
                                     .end = 3013,
                                     .deviceId = 23,
                                     .contextId = 33,
                                     .streamId = 43,
                                     .correlationId = 3,
                                     .graphId = 53,
                                     .graphNodeId = (uint64_t)53 << 32 | 63};
  add_call(41, 1);
  add_call(41, 2);
  add_call(51, 3);
  add(&copy, sizeof copy);
  add(&peer, sizeof peer);
  add(&set, sizeof set);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(record.count, 6);
  const pd_activity *rows = record.rows + 3;
  static const struct {
    pd_activity_kind kind;
    pd_memory_kind from, to;
  } wanted[3] = {{PD_ACTIVITY_MEMCPY, PD_MEMORY_PAGEABLE, PD_MEMORY_DEVICE},
                 {PD_ACTIVITY_MEMCPY, PD_MEMORY_DEVICE, PD_MEMORY_MANAGED},
                 {PD_ACTIVITY_MEMSET, PD_MEMORY_UNKNOWN, PD_MEMORY_PINNED}};
  for (uint32_t i = 0; i < 3; i++) {
    cr_assert_eq(rows[i].kind, wanted[i].kind);
    cr_assert_eq(rows[i].u.copy.from, wanted[i].from);
    cr_assert_eq(rows[i].u.copy.to, wanted[i].to);
    cr_assert_eq(rows[i].u.copy.graph, 51 + i);
    cr_assert_eq(rows[i].u.copy.graph_node, 61 + i);
    cr_assert_eq(rows[i].bytes, 77 + i);
    cr_assert_eq(rows[i].start, 3001 + i);
    cr_assert_eq(rows[i].end, 3011 + i);
    cr_assert_eq(rows[i].device, 21 + i);
    cr_assert_eq(rows[i].context, 31 + i);
    cr_assert_eq(rows[i].stream, 41 + i);
    cr_assert_eq(rows[i].correlation, 1 + i);
    cr_assert_eq(rows[i].thread, 0);
    cr_assert_eq(rows[i].name, 0); /* the trace's to build */
  }
  close_decoder();
}

static int by_id_and_kind(const void *a_, const void *b_) {
  const pd_activity *a = a_, *b = b_;
  if (a->correlation != b->correlation) return a->correlation < b->correlation ? -1 : 1;
  return (int)a->kind - (int)b->kind;
}

/* Three launches in every one of the 720 orders, cut into two buffers at every place: always the same six rows. */
PD_TEST(cupti_decode, does_not_depend_on_the_order) {
  pd_activity wanted[6];
  for (int order = 0; order < 720; order++) {
    for (int cut = 0; cut <= 6; cut += 2) {
      int left[6] = {0, 1, 2, 3, 4, 5}, rest = order;
      open_decoder();
      for (int i = 0; i < 6; i++) {
        int pick = rest % (6 - i), what;
        rest /= 6 - i;
        what = left[pick];
        memmove(left + pick, left + pick + 1, (size_t)(5 - pick) * sizeof *left);
        if (i == cut) decode();
        if (what < 3)
          add_call_at(false, 211, (uint32_t)what + 1, 2000 + (uint64_t)what * 1000, 42);
        else
          add_kernel((uint32_t)what - 2, "_Z1kv", 2500 + (uint64_t)(what - 3) * 1000, 2600 + (uint64_t)what * 1000);
      }
      decode();
      cr_assert(cupti_decoder_settle(&decoder));
      cr_assert_eq(record.count, 6);
      qsort(record.rows, 6, sizeof *record.rows, by_id_and_kind);
      for (int i = 0; i < 6; i++) record.rows[i].name = 0; /* ids go by the first that comes */
      if (!order && !cut) memcpy(wanted, record.rows, sizeof wanted);
      cr_assert_eq(memcmp(wanted, record.rows, sizeof wanted), 0, "order %d cut at %d", order, cut);
      close_decoder();
    }
  }
}

PD_TEST(cupti_decode, walks_longer_records_of_a_newer_library) {
  fake_set()->record_growth = 40;
  open_decoder();
  for (uint32_t i = 1; i <= 10; i++) {
    add_call(211, i);
    add_kernel(i, "_Z1kv", 3000, 4000);
  }
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(record.count, 20);
  cr_assert_eq(decoder.counts.records, 20);
  close_decoder();
}

PD_TEST(cupti_decode, carries_a_wrap_of_the_ids_on) {
  open_decoder();
  for (uint32_t i = 0; i < 512; i++) {
    add_call(211, 0xFFFFFF00u + i);
    add_kernel(0xFFFFFF00u + i, "_Z1kv", 3000, 4000);
    if (i % 64 == 63) decode();
  }
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(record.count, 1024);
  qsort(record.rows, record.count, sizeof *record.rows, by_id_and_kind);
  for (uint64_t i = 0; i < record.count; i++) cr_assert_eq(record.rows[i].correlation, UINT64_C(0xFFFFFF00) + i / 2);
  close_decoder();
}

PD_TEST(cupti_decode, repeats_no_id_when_the_library_starts_anew) {
  open_decoder();
  add_call(211, 7);
  add_kernel(7, "_Z1kv", 3000, 4000);
  decode();
  cupti_decoder_window_close(&decoder);
  cupti_decoder_session(&decoder);
  cupti_decoder_window_open(&decoder, 5000, false);
  add_call(211, 7);
  add_kernel(7, "_Z1kv", 6000, 7000);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(record.count, 4);
  cr_assert_eq(record.rows[0].correlation, 7);
  cr_assert_eq(record.rows[2].correlation, ((uint64_t)1 << 32) + 7);
  cr_assert_eq(record.rows[3].correlation, ((uint64_t)1 << 32) + 7);
  close_decoder();
}

PD_TEST(cupti_decode, reads_a_name_again_when_its_place_holds_another) {
  static char place[32] = "_Z5firstv";
  open_decoder();
  for (uint32_t i = 1; i <= 3; i++) {
    add_call(211, i);
    add_kernel(i, place, 3000, 4000);
    decode();
    strcpy(place, i == 1 ? "_Z6secondv" : "_Z5firstv");
  }
  cr_assert_str_eq(record.names[record.rows[1].name], "first()");
  cr_assert_str_eq(record.names[record.rows[3].name], "second()");
  cr_assert_eq(record.rows[5].name, record.rows[1].name);
  close_decoder();
}

PD_TEST(cupti_decode, keeps_names_it_cannot_read) {
  static const char *const names[] = {"not mangled", "_Z", "\xff\xfe\"\n", "", "_ZN3bad"};
  open_decoder();
  for (uint32_t i = 0; i < 5; i++) {
    add_call(211, i + 1);
    add_kernel(i + 1, names[i], 3000, 4000);
    decode();
    cr_assert_str_eq(record.names[record.rows[2 * i + 1].name], names[i]);
  }
  add_call(211, 9);
  add_kernel(9, NULL, 3000, 4000);
  decode();
  cr_assert_str_eq(record.names[record.rows[11].name], "(unnamed kernel)");
  close_decoder();
}

PD_TEST(cupti_decode, interns_thousands_of_names) {
  static char names[3000][16];
  open_decoder();
  for (uint32_t i = 0; i < 3000; i++) {
    snprintf(names[i], sizeof names[i], "_Z4k%03uv", i % 1000);
    add_call(211, i + 1);
    add_kernel(i + 1, names[i], 3000, 4000);
    decode();
  }
  cr_assert_eq(decoder.name_count, 3000);    /* places */
  cr_assert_eq(record.name_count, 1 + 1001); /* names, with cudaLaunchKernel */
  close_decoder();
}

PD_TEST(cupti_decode, counts_bad_times_and_hands_none_on) {
  static const struct {
    uint64_t start, end;
    bool zero;
  } rows[] = {{0, 0, true}, {3000, 0, true}, {0, 4000, true}, {4000, 3999, false}, {1999999, 12000000, false}};
  open_decoder();
  for (uint32_t i = 0; i < 5; i++) {
    add_call_at(false, 211, i + 1, i == 4 ? 12000000 : 2000, 42);
    add_kernel(i + 1, "_Z1kv", rows[i].start, rows[i].end);
  }
  decode();
  cr_assert(cupti_decoder_settle(&decoder)); /* they have come: a drain must not wait for them */
  cr_assert_eq(record.count, 5);             /* the calls */
  for (uint64_t i = 0; i < 5; i++) cr_assert_eq(record.rows[i].kind, PD_ACTIVITY_RUNTIME);
  cr_assert_eq(decoder.counts.zero_stamped, 3);
  cr_assert_eq(decoder.counts.implausible, 2);
  cr_assert_eq(record.lost[PD_LOSS_ZERO_TIMESTAMP], 3);
  cr_assert_eq(record.lost[PD_LOSS_IMPLAUSIBLE], 2);
  close_decoder();
}

/* Records that begin before their call by the clocks' doing are handed on as CUPTI has them and counted: the trace
 * moves them. What is earlier than clocks can be is implausible. */
PD_TEST(cupti_decode, counts_records_before_their_launches) {
  static const int64_t early[] = {0, 7, 0, PD_EARLY_NS, PD_EARLY_NS + 1};
  open_decoder();
  for (uint32_t i = 0; i < 5; i++) {
    add_call_at(false, 211, i + 1, 100000, 42);
    add_kernel(i + 1, "_Z1kv", (uint64_t)(100000 - early[i]), 100100);
    decode();
  }
  cr_assert_eq(record.count, 9);
  for (uint32_t i = 0; i < 4; i++) {
    cr_assert_eq(record.rows[2 * i + 1].start, 100000 - early[i]);
    cr_assert_eq(record.rows[2 * i + 1].end, 100100);
  }
  cr_assert_eq(decoder.counts.early, 2);
  cr_assert_eq(decoder.early_ns, PD_EARLY_NS);
  cr_assert_eq(decoder.counts.implausible, 1);
  cr_assert_eq(record.lost[PD_LOSS_IMPLAUSIBLE], 1);
  cupti_decoder_window_close(&decoder);
  cupti_decoder_window_open(&decoder, 1000, false);
  cr_assert_eq(decoder.early_ns, 0);
  close_decoder();
}

/* Whatever the times: each record is either handed on with end >= start, at most the clocks' tolerance before its call,
 * or counted. */
PD_TEST(cupti_decode, loses_no_record_uncounted) {
  uint64_t state = 12345, kernels = 0;
  open_decoder();
  for (uint32_t i = 1; i <= 20000; i++) {
    uint64_t times[2];
    for (int t = 0; t < 2; t++) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      times[t] = state >> 62 ? 1000 + (state >> 33) % 100000 : 0;
    }
    if (i % 2)
      add_call_at(false, 211, i, 60000, 42), add_kernel(i, "_Z1kv", times[0], times[1]);
    else
      add_kernel(i, "_Z1kv", times[0], times[1]), add_call_at(false, 211, i, 60000, 42);
    if (i % 100 == 0) decode();
  }
  cr_assert(cupti_decoder_settle(&decoder));
  for (uint64_t i = 0; i < record.count; i++) {
    if (record.rows[i].kind != PD_ACTIVITY_KERNEL) continue;
    kernels++;
    cr_assert_geq(record.rows[i].start, 60000 - PD_EARLY_NS);
    cr_assert_geq(record.rows[i].end, record.rows[i].start);
  }
  cr_assert_gt(kernels, 1000);
  cr_assert_gt(decoder.counts.early, 1000);
  cr_assert_eq(kernels + decoder.counts.zero_stamped + decoder.counts.implausible, 20000);
  close_decoder();
}
