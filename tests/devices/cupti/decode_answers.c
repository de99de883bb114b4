/* Which record answers which call: what the drain waits for, captures, ids that are shared or of the past, strays. */
#include "decode_rig.h"

#include <stdlib.h>

PD_TEST(cupti_decode, waits_for_no_record_of_a_failed_launch) {
  open_decoder();
  const CUpti_ActivityAPI failed = {.kind = CUPTI_ACTIVITY_KIND_RUNTIME,
                                    .cbid = 211,
                                    .start = 2000,
                                    .end = 2100,
                                    .correlationId = 1,
                                    .returnValue = 9};
  add(&failed, sizeof failed);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(record.rows[0].u.api.result, 9);
  add_call(211, 2);
  decode();
  cr_assert_not(cupti_decoder_settle(&decoder));
  close_decoder();
}

PD_TEST(cupti_decode, expects_nothing_of_captured_launches) {
  open_decoder();
  add_call_at(false, 317, 1, 2000, 42);
  add_call_at(false, 211, 2, 2200, 42);
  add_call_at(false, 41, 3, 2400, 42);
  add_call_at(false, 211, 4, 2400, 43); /* another thread's own */
  add_call_at(false, 319, 5, 2600, 42);
  add_call_at(false, 211, 6, 2800, 42);
  decode();
  cr_assert_eq(record.rows[1].u.api.api, PD_API_OTHER);
  cr_assert_eq(record.rows[2].u.api.api, PD_API_OTHER);
  cr_assert_eq(record.rows[3].u.api.api, PD_API_LAUNCH);
  cr_assert_eq(record.rows[5].u.api.api, PD_API_LAUNCH);
  cr_assert_eq(decoder.match.pending, 2);
  add_kernel(4, "_Z1kv", 3000, 4000);
  add_kernel(6, "_Z1kv", 3000, 4000);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  close_decoder();
}

PD_TEST(cupti_decode, expects_nothing_of_a_capture_begun_before_the_window) {
  open_decoder();
  add_call_at(false, 211, 1, 2000, 42);
  add_call_at(false, 211, 2, 2000, 43);
  add_call_at(false, 319, 3, 2600, 42);
  decode();
  cr_assert_eq(decoder.match.pending, 1); /* thread 43's */
  close_decoder();
}

/* The record of its end was lost, or is later than the window. */
PD_TEST(cupti_decode, forgets_a_capture_that_the_window_saw_no_end_of) {
  open_decoder();
  add_call_at(false, 317, 1, 2000, 42);
  add_call_at(false, 211, 2, 2200, 42);
  decode();
  cr_assert_eq(decoder.match.pending, 0);
  cupti_decoder_window_close(&decoder);
  cupti_decoder_window_open(&decoder, 5000, false);
  add_call_at(false, 211, 3, 5200, 42);
  decode();
  cr_assert_eq(record.rows[2].u.api.api, PD_API_LAUNCH);
  cr_assert_eq(decoder.match.pending, 1);
  add_kernel(3, "_Z1kv", 6000, 7000);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  close_decoder();
}

PD_TEST(cupti_decode, hands_a_driver_call_on_once) {
  open_decoder();
  add_call_at(true, 307, 1, 2010, 42); /* inside the runtime call of the same id */
  add_call_at(false, 211, 1, 2000, 42);
  add_call_at(true, 307, 2, 2500, 42); /* a library's own */
  add_kernel(1, "_Z1kv", 3000, 4000);
  add_kernel(2, "_Z1kv", 4000, 5000);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cupti_decoder_window_close(&decoder);
  cr_assert_eq(record.count, 4);
  cr_assert_eq(decoder.counts.nested, 1);
  uint64_t driver = 0;
  for (uint64_t i = 0; i < record.count; i++) {
    if (record.rows[i].kind != PD_ACTIVITY_DRIVER) continue;
    driver++;
    cr_assert_eq(record.rows[i].correlation, 2);
    cr_assert_str_eq(record.names[record.rows[i].name], "cuLaunchKernel");
  }
  cr_assert_eq(driver, 1);
  close_decoder();
}

PD_TEST(cupti_decode, lets_the_past_go_where_kinds_stay_on) {
  open_decoder();
  cupti_decoder_window_close(&decoder);
  cupti_decoder_window_open(&decoder, 10000, true);
  add_call_at(false, 211, 1, 9000, 42);
  add_call_at(false, 211, 2, 10000, 42);
  add_kernel(1, "_Z1kv", 11000, 12000); /* launched before, runs inside */
  add_kernel(2, "_Z1kv", 12000, 13000);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(record.count, 2);
  cr_assert_eq(record.rows[0].correlation, 2);
  cr_assert_eq(record.rows[1].correlation, 2);
  cupti_decoder_window_close(&decoder);
  cr_assert_eq(record.count, 2);
  cr_assert_eq(decoder.counts.stale, 2);
  close_decoder();
}

/* A kernel from before the window under an id that has come again since: its launch keeps the one that is its own. */
PD_TEST(cupti_decode, takes_no_earlier_kernel_for_a_launchs_own) {
  for (int order = 0; order < 6; order++) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    open_decoder();
    cupti_decoder_window_close(&decoder);
    cupti_decoder_window_open(&decoder, 10000, true);
    for (int i = 0; i < 3; i++) {
      if (orders[order][i] == 0) add_call_at(false, 211, 7, 20000, 42);
      if (orders[order][i] == 1) add_kernel(7, "_Z5stalev", 9000, 9500);
      if (orders[order][i] == 2) add_kernel(7, "_Z3ownv", 23000, 24000);
      decode();
    }
    cr_assert(cupti_decoder_settle(&decoder));
    cupti_decoder_window_close(&decoder);
    cr_assert_eq(record.count, 2, "order %d", order);
    for (uint64_t i = 0; i < record.count; i++)
      if (record.rows[i].kind == PD_ACTIVITY_KERNEL) cr_assert_eq(record.rows[i].start, 23000);
    cr_assert_eq(decoder.counts.stale, 1);
    cr_assert_eq(decoder.counts.early, 0);
    close_decoder();
  }
}

/* Where nothing else comes, it is the clocks that disagree. */
PD_TEST(cupti_decode, takes_an_early_record_where_a_launch_has_no_other) {
  open_decoder();
  cupti_decoder_window_close(&decoder);
  cupti_decoder_window_open(&decoder, 10000, true);
  add_call_at(false, 211, 7, 10050, 42);
  add_kernel(7, "_Z1kv", 9990, 9995);
  decode();
  cr_assert(cupti_decoder_settle(&decoder)); /* the drain need not wait for more */
  cupti_decoder_window_close(&decoder);
  cr_assert_eq(record.count, 2);
  cr_assert_eq(record.rows[1].start, 9990);
  cr_assert_eq(decoder.counts.stale, 0);
  cr_assert_eq(decoder.counts.early, 1);
  close_decoder();
}

/* A record of the past answers no launch: the drain has to wait for the launch's own. */
PD_TEST(cupti_decode, waits_on_where_only_the_pasts_records_have_come) {
  open_decoder();
  cupti_decoder_window_close(&decoder);
  cupti_decoder_window_open(&decoder, 10000, true);
  add_call_at(false, 211, 7, 10050, 42);
  add_kernel(3, "_Z5stalev", 9000, 9500); /* its call was before the window */
  decode();
  cr_assert_not(cupti_decoder_settle(&decoder));
  add_kernel(7, "_Z3ownv", 11000, 12000);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  add_call_at(false, 211, 8, 10060, 42);
  add_call_at(false, 211, 9, 10070, 42);
  add_kernel(8, "_Z1kv", 9990, 9992);
  add_kernel(8, "_Z5againv", 9993, 9995); /* two for the one answer the other no more */
  decode();
  cr_assert_not(cupti_decoder_settle(&decoder));
  add_kernel(9, "_Z3ownv", 11000, 12000);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cupti_decoder_window_close(&decoder);
  cr_assert_eq(decoder.counts.early, 1);
  cr_assert_eq(decoder.counts.stale, 2);
  close_decoder();
}

/* Each of the calls under one id wants a record of its kind; what is left over answers none of them. */
PD_TEST(cupti_decode, waits_on_where_records_under_a_shared_id_are_left_over) {
  open_decoder();
  add_call_at(false, 211, 7, 2000, 42);
  add_call_at(false, 211, 7, 2200, 42); /* another launch under its id */
  add_call_at(false, 211, 8, 2400, 42);
  add_kernel(7, "_Z1av", 3000, 4000);
  add_kernel(7, "_Z1bv", 5000, 6000);
  add_kernel(7, "_Z4leftv", 7000, 8000);
  decode();
  cr_assert_not(cupti_decoder_settle(&decoder)); /* the third launch's has not come */
  add_kernel(8, "_Z1cv", 9000, 9500);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cupti_decoder_window_close(&decoder);
  cr_assert_eq(record.count, 6);
  cr_assert_eq(decoder.counts.surplus, 1);
  close_decoder();
}

/* The past's ids may be greater than the window's where the library has begun anew. */
PD_TEST(cupti_decode, drops_no_kernel_for_a_greater_id_of_the_past) {
  open_decoder();
  cupti_decoder_window_close(&decoder);
  cupti_decoder_window_open(&decoder, 10000, true);
  add_call_at(false, 211, 90, 9000, 42);
  add_kernel(5, "_Z1kv", 12000, 13000);
  decode();
  add_call_at(false, 211, 5, 11000, 42);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(record.count, 2);
  close_decoder();
}

PD_TEST(cupti_decode, never_gives_a_launch_two_kernels) {
  open_decoder();
  add_call(211, 7);
  add_call(41, 8); /* a copy may come in parts */
  add_kernel(7, "_Z1kv", 3000, 4000);
  add_kernel(7, "_Z1kv", 5000, 6000);
  add_kernel(8, "_Z4partv", 5000, 6000);
  add_kernel(8, "_Z4partv", 6000, 7000);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(record.count, 5);
  cr_assert_eq(decoder.counts.surplus, 1);
  cr_assert_eq(record.lost[PD_LOSS_UNMATCHED_ACTIVITY], 1);
  close_decoder();
}

PD_TEST(cupti_decode, lets_a_buffer_of_an_earlier_session_go) {
  CUpti_ActivityOverhead3 overhead = {.kind = CUPTI_ACTIVITY_KIND_OVERHEAD, .start = 2000, .end = 2100};
  overhead.overheadData = malloc(24); /* else the sanitizer finds it */
  open_decoder();
  add_call(211, 7);
  add_kernel(7, "_Z1kv", 3000, 4000);
  add(&overhead, sizeof overhead);
  cupti_decoder_skip(&decoder, buffer, used);
  used = 0;
  memset(buffer, 0, sizeof buffer);
  cr_assert(cupti_decoder_settle(&decoder));
  cupti_decoder_window_close(&decoder);
  cr_assert_eq(record.count, 0);
  cr_assert_eq(decoder.counts.strays, 3);
  close_decoder();
}

PD_TEST(cupti_decode, hands_nothing_on_between_windows) {
  open_decoder();
  cupti_decoder_window_close(&decoder);
  add_call(211, 1);
  add_kernel(1, "_Z1kv", 3000, 4000);
  decode();
  cr_assert_eq(record.count, 0);
  cr_assert_eq(decoder.counts.stale, 2);
  close_decoder();
}

PD_TEST(cupti_decode, hands_a_record_without_a_launch_on_in_the_end) {
  open_decoder();
  add_kernel(9, "_Z1kv", 3000, 4000);
  decode();
  cr_assert(cupti_decoder_settle(&decoder));
  cr_assert_eq(record.count, 0);
  cupti_decoder_window_close(&decoder);
  cr_assert_eq(record.count, 1); /* the trace counts it as unmatched */
  close_decoder();
}
