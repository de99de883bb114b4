/* The last seconds of a recording: what is too old goes, what was launched before goes with its call, memory is
 * bounded.
 */
#include "pd_test.h"

#include "capture/capture_read.h"
#include "record/record_last.h"

#include <pdhost/record.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECOND = 1000000000 };

static char folder[] = "/tmp/pdhost_last_XXXXXX", path[64];
static record_last last;

static void add(uint32_t kind, uint32_t thread, const void *rows, uint64_t bytes, size_t row_bytes, int64_t now_ns) {
  const capture_head head = {.kind = kind,
                             .window = CAPTURE_NO_WINDOW,
                             .thread = thread,
                             .count = (uint32_t)(bytes / row_bytes),
                             .row_bytes = (uint32_t)row_bytes};
  record_last_add(&last, head, rows, bytes, now_ns);
}

static void add_row(pd_activity_kind kind, uint64_t correlation, int64_t start_ns, int64_t now_ns) {
  const pd_activity row = {.kind = kind, .correlation = correlation, .start = start_ns, .end = start_ns + 10};
  add(CAPTURE_ACTIVITIES, 0, &row, sizeof row, sizeof row, now_ns);
}

static void add_name(uint32_t thread, uint32_t id, const char *text, int64_t now_ns) {
  struct {
    capture_string head;
    char text[64];
  } row = {.head = {.id = id, .bytes = sizeof row.text}};
  (void)snprintf(row.text, sizeof row.text, "%s", text);
  add(CAPTURE_STRINGS, thread, &row, sizeof row, 1, now_ns);
}

static void add_range(uint32_t name, uint32_t domain, int64_t now_ns) {
  const capture_annotation range = {now_ns - 1, now_ns, name, domain};
  add(CAPTURE_ANNOTATIONS, 5, &range, sizeof range, sizeof range, now_ns);
}

static uint64_t write_from(int64_t begin_ns) {
  capture_writer writer;
  cr_assert(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/a.pdcap", folder);
  cr_assert_eq(capture_create(&writer, path, CAPTURE_OF_PROGRAM, 1, 1), PD_OK);
  const uint64_t rows = record_last_write(&last, &writer, begin_ns);
  cr_assert_eq(capture_close(&writer, false), PD_OK);
  return rows;
}

/* How many rows of a kind were written. */
static uint64_t rows_of(uint32_t kind) {
  capture_reader reader;
  uint64_t rows = 0;
  cr_assert_eq(capture_open(&reader, path), PD_OK);
  for (uint64_t i = 0; i < reader.count; i++)
    if (reader.records[i].kind == kind) rows += reader.records[i].count;
  capture_reader_close(&reader);
  return rows;
}

static uint64_t records_of(uint32_t kind) {
  capture_reader reader;
  uint64_t records = 0;
  cr_assert_eq(capture_open(&reader, path), PD_OK);
  for (uint64_t i = 0; i < reader.count; i++) records += reader.records[i].kind == kind;
  capture_reader_close(&reader);
  return records;
}

static uint64_t texts_in(const char *rows, uint64_t bytes) {
  uint64_t text = 0;
  for (uint64_t at = 0; at < bytes;) {
    capture_string row;
    memcpy(&row, rows + at, sizeof row);
    text += row.bytes;
    at += sizeof row + (row.bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
    cr_assert_leq(at, bytes);
  }
  return text;
}

/* How many bytes the texts of all names have. */
static uint64_t texts_of_names(void) {
  capture_reader reader;
  uint64_t text = 0;
  cr_assert_eq(capture_open(&reader, path), PD_OK);
  for (uint64_t i = 0; i < reader.count; i++) {
    const capture_record *at = &reader.records[i];
    char *rows = at->kind == CAPTURE_STRINGS ? malloc(at->bytes) : NULL;
    if (!rows) continue;
    cr_assert_eq(capture_payload(&reader, at, rows), PD_OK);
    text += texts_in(rows, at->bytes);
    free(rows);
  }
  capture_reader_close(&reader);
  return text;
}

static void clean(void) {
  (void)unlink(path);
  (void)rmdir(folder);
  record_last_free(&last);
  last = (record_last){0};
}

/* A kernel that runs in the last seconds but was launched before them has no call, and goes with it. */
Test(record_last, what_was_launched_before_goes_with_its_call, .fini = clean) {
  const int64_t begin_ns = 100 * (int64_t)SECOND;
  add_row(PD_ACTIVITY_RUNTIME, 7, begin_ns - 5, begin_ns + 1);
  add_row(PD_ACTIVITY_KERNEL, 7, begin_ns + 50, begin_ns + 100);
  add_row(PD_ACTIVITY_RUNTIME, 8, begin_ns + 5, begin_ns + 100);
  add_row(PD_ACTIVITY_KERNEL, 8, begin_ns + 70, begin_ns + 100);
  add_row(PD_ACTIVITY_SYNC, 0, begin_ns - 1, begin_ns + 100);
  const capture_annotation ranges[] = {{begin_ns - 1, begin_ns + 9, 1, 0}, {begin_ns + 1, begin_ns + 9, 1, 0}};
  add(CAPTURE_ANNOTATIONS, 3, ranges, sizeof ranges, sizeof ranges[0], begin_ns + 100);
  cr_assert_eq(write_from(begin_ns), 2);
  cr_assert_eq(rows_of(CAPTURE_ACTIVITIES), 2);
  cr_assert_eq(rows_of(CAPTURE_ANNOTATIONS), 1);
}

Test(record_last, memory_does_not_grow_with_time, .fini = clean) {
  uint64_t most = 0;
  const pd_activity kernel = {
      .kind = PD_ACTIVITY_KERNEL, .name = 7, .correlation = 9999, .start = 9999 * (int64_t)SECOND};
  add_name(0, 7, "kernel", 1);
  for (int64_t second = 1; second <= 10000; second++) {
    add_row(PD_ACTIVITY_RUNTIME, (uint64_t)second, second * SECOND, second * SECOND);
    record_last_drop(&last, (second - 10) * SECOND);
    if (last.rows.bytes > most) most = last.rows.bytes;
  }
  cr_assert_leq(most, 12 * (sizeof(pd_activity) + 128));
  add(CAPTURE_ACTIVITIES, 0, &kernel, sizeof kernel, sizeof kernel, 10000 * (int64_t)SECOND);
  cr_assert_eq(write_from(9996 * (int64_t)SECOND), 6);
  cr_assert_eq(rows_of(CAPTURE_STRINGS), 1, "names of kernels stay");
}

/* A program that names every range anew runs for days; those that it uses again have their names. */
Test(record_last, names_that_are_used_stay, .fini = clean) {
  const uint32_t many = 3 * RECORD_NAMES_BYTES / 128;
  add_name(0, 1, "kernel", 1);
  add_name(5, 2, "forward", 1);
  add_name(5, 3, "domain", 1);
  for (uint32_t i = 10; i < many; i++) {
    add_name(5, i, "step", i);
    add_range(i, 3, i);
    if (i % 100 == 0) add_range(2, 0, i);
    record_last_drop(&last, (int64_t)i - 1000);
  }
  const pd_activity kernel = {.kind = PD_ACTIVITY_KERNEL, .name = 1, .correlation = 1, .start = many};
  add(CAPTURE_ACTIVITIES, 0, &kernel, sizeof kernel, sizeof kernel, many);
  cr_assert_leq(last.ranges.bytes, RECORD_NAMES_BYTES);
  cr_assert_gt(last.ranges.dropped, 0);
  const record_nameless nameless = record_last_nameless(&last, 0);
  cr_assert_eq(nameless.ranges + nameless.works, 0);
  cr_assert_eq(write_from((int64_t)many - 500), 0, "no call is there for the kernel");
  cr_assert_eq(rows_of(CAPTURE_STRINGS), 500 + 3, "of the rows in the file, and no more");
}

/* The rings wait while a snapshot is written: it takes few writes. */
Test(record_last, names_are_written_many_at_a_time, .fini = clean) {
  enum { NAMES = 10000, WIDE = 2 * CAPTURE_PART_BYTES };
  static struct {
    capture_string head;
    char text[WIDE];
  } wide = {.head = {.id = 3, .bytes = WIDE}};
  for (uint32_t i = 10; i < 10 + NAMES; i++) {
    if (i == NAMES / 2) add(CAPTURE_STRINGS, 5, &wide, sizeof wide, 1, i);
    add_name(i % 3, i, "name", i);
  }
  (void)write_from(1);
  cr_assert_eq(rows_of(CAPTURE_STRINGS), NAMES + 1);
  cr_assert_eq(texts_of_names(), NAMES * (uint64_t)64 + WIDE, "each is whole");
  cr_assert_leq(records_of(CAPTURE_STRINGS), 3 + 2 + NAMES * (uint64_t)(64 + sizeof wide.head) / CAPTURE_PART_BYTES);
}

/* What is not there is told. */
Test(record_last, rows_whose_name_is_gone_are_counted, .fini = clean) {
  add_name(5, 2, "once", 1);
  for (uint32_t i = 10; last.ranges.dropped == 0; i++) add_name(5, i, "other", i);
  add_range(2, 0, 100);
  add_range(10, 0, 100);
  add_range(10, 2, 100);
  add_range(2, 2, 50);
  cr_assert_eq(record_last_nameless(&last, 99).ranges, 2,
               "a range without its domain counts, and an older one does not");
  cr_assert_eq(record_last_nameless(&last, 100).ranges, 0);
  cr_assert_eq(record_last_nameless(&last, 0).works, 0);
}

/* Those of calls and kernels are counted apart, and only where they are written: a kernel needs its call. */
Test(record_last, kernels_whose_name_is_gone_are_counted, .fini = clean) {
  add_name(0, 2, "kernel", 1);
  for (uint32_t i = 10; last.kernels.dropped == 0; i++) add_name(0, i, "other", i);
  const pd_activity rows[] = {
      {.kind = PD_ACTIVITY_RUNTIME, .name = 10, .correlation = 7, .start = 100, .end = 101},
      {.kind = PD_ACTIVITY_KERNEL, .name = 2, .correlation = 7, .start = 105, .end = 106},
      {.kind = PD_ACTIVITY_KERNEL, .name = 2, .correlation = 6, .start = 102, .end = 103},
  };
  add(CAPTURE_ACTIVITIES, 0, rows, sizeof rows, sizeof rows[0], 110);
  cr_assert_eq(record_last_nameless(&last, 100).works, 1);
  cr_assert_eq(record_last_nameless(&last, 100).ranges, 0);
}

/* A program that makes a thread for each of its requests. */
Test(record_last, names_of_threads_have_a_limit, .fini = clean) {
  const capture_thread_name name = {.tid = 7, .name = "request"};
  for (int i = 0; i < 1 << 20; i++) add(CAPTURE_THREAD_NAMES, 0, &name, sizeof name, sizeof name, i);
  cr_assert_leq(last.threads.bytes, RECORD_LAST_THREAD_BYTES);
  cr_assert_eq(last.about.bytes, 0);
}

Test(record_last, nothing, .fini = clean) {
  cr_assert(!record_last_any(&last));
  add_row(PD_ACTIVITY_RUNTIME, 1, 5, 5);
  cr_assert(record_last_any(&last));
  record_last_drop(&last, 6);
  cr_assert(!record_last_any(&last));
  cr_assert_eq(write_from(0), 0);
}
