/* The window sink's file, read back: the same rows, and no damaged file taken for whole. */
#include "score/window_reader.h"

#include "fake_trace.h"
#include "pd_test.h"
#include "sink_run.h"

#include <stdlib.h>
#include <string.h>

typedef struct fixture {
  fake_trace *fake;
  pd_trace *trace;
  sink_run sink;
  const memory_file *file;
} fixture;

static void set_up_trace(fixture *f) {
  memset(f, 0, sizeof *f);
  f->fake = fake_trace_open();
  cr_assert_not_null(f->fake);
  fake_trace_training(f->fake, 2, 3);
  f->trace = fake_trace_finish(f->fake);
  cr_assert_not_null(f->trace);
}

static void keep(fixture *f, const pd_run *run) {
  static const char *const settings[] = {NULL};
  cr_assert(sink_run_load(&f->sink, SINK_PATH, settings), "%s", f->sink.error);
  cr_assert_eq(sink_run_open(&f->sink, run), PD_OK, "%s", f->sink.error);
  cr_assert_eq(sink_run_trace(&f->sink, f->trace), PD_OK);
  cr_assert_eq(sink_run_close(&f->sink, fake_summary()), PD_OK);
  f->file = sink_run_file(&f->sink, "out/window0.pdw");
  cr_assert_not_null(f->file);
}

static void set_up_run(fixture *f, const pd_run *run) {
  set_up_trace(f);
  keep(f, run);
}

static void set_up(fixture *f) { set_up_run(f, fake_run("out")); }

static void tear_down(fixture *f) {
  sink_run_unload(&f->sink);
  fake_trace_close(f->fake);
}

#define SAME(array, T)                                                                                                 \
  do {                                                                                                                 \
    cr_assert_eq(got.trace.array.count, f.trace->array.count, #array);                                                 \
    for (uint64_t i_ = 0; i_ < got.trace.array.count; i_++)                                                            \
      cr_assert_eq(memcmp(PD_AT(T, &got.trace.array, i_), PD_AT(T, &f.trace->array, i_), sizeof(T)), 0,                \
                   #array " row %llu", (unsigned long long)i_);                                                        \
  } while (0)

PD_TEST(window, rows_come_back_as_they_were) {
  static error err;
  fixture f;
  window_file got;
  set_up(&f);
  cr_assert(window_file_take("w", f.file->data, f.file->bytes, &got, &err), "%s", err.text);
  SAME(threads, pd_thread);
  SAME(streams, pd_stream_row);
  SAME(calls, pd_call);
  SAME(activities, pd_device_row);
  SAME(activities_by_call, uint32_t);
  SAME(others, pd_other_row);
  SAME(memory, pd_memory_row);
  SAME(counters, pd_counter_row);
  SAME(steps, pd_trace_step);
  SAME(shapes, pd_shape);
  SAME(ranges, pd_range);
  cr_assert_eq(got.trace.strings.count, f.trace->strings.count);
  for (uint32_t i = 0; i < got.trace.strings.count; i++)
    cr_assert_str_eq(pd_trace_string(&got.trace, i)->text, pd_trace_string(f.trace, i)->text);
  cr_assert_eq(got.trace.start_ns, f.trace->start_ns);
  cr_assert_eq(got.trace.profile, f.trace->profile);
  cr_assert_str_eq(got.trace.device->name, f.trace->device->name);
  cr_assert_eq(got.trace.device->is_cuda, f.trace->device->is_cuda);
  const pd_run *run = fake_run("out");
  cr_assert_str_eq(got.texts[PD_WINDOW_TEXT_SCENARIO], run->scenario);
  cr_assert_str_eq(got.trace.origin, "pdhost");
  cr_assert_eq(got.trace.facts, f.trace->facts);
  cr_assert_str_eq(got.texts[PD_WINDOW_TEXT_COMMAND_LINE], run->command_line);
  cr_assert_eq(got.run.batch_size, run->batch_size);
  cr_assert_eq(got.run.has_fallback, (uint32_t)(run->fallback != NULL));
  window_file_close(&got);
  tear_down(&f);
}

PD_TEST(window, cures_come_back_a_line_each) {
  static const pd_cure cures[] = {{"input_bound", "data.num_workers=4 data.prefetch_factor=4"},
                                  {"allocator", "scenario.temporaries=0"},
                                  {NULL, NULL}};
  static const struct {
    const pd_cure *cures;
    uint32_t size;
    const char *text;
  } runs[] = {{cures, sizeof(pd_run),
               "input_bound data.num_workers=4 data.prefetch_factor=4\nallocator scenario.temporaries=0\n"},
              {NULL, sizeof(pd_run), ""},
              {cures, offsetof(pd_run, cures), ""}}; /* a host of 1.0 */
  static error err;
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    fixture f;
    window_file got;
    pd_run run = *fake_run("out");
    run.cures = runs[i].cures;
    run.size = runs[i].size;
    set_up_run(&f, &run);
    cr_assert(window_file_take("w", f.file->data, f.file->bytes, &got, &err), "%s", err.text);
    cr_assert_str_eq(got.texts[PD_WINDOW_TEXT_CURES], runs[i].text);
    cr_assert_eq(got.trace.strings.count, f.trace->strings.count);
    window_file_close(&got);
    tear_down(&f);
  }
}

PD_TEST(window, no_beginning_of_a_file_is_taken_for_whole) {
  static error err;
  fixture f;
  window_file got;
  set_up(&f);
  for (uint64_t bytes = 0; bytes < f.file->bytes; bytes += bytes < 400 ? 1 : 97) {
    error_clear(&err);
    cr_assert_not(window_file_take("w", f.file->data, bytes, &got, &err), "%llu bytes", (unsigned long long)bytes);
    cr_assert_eq(err.exit_code, CODE_CONFIG);
  }
  char *longer = calloc(1, f.file->bytes + 1);
  memcpy(longer, f.file->data, f.file->bytes);
  cr_assert_not(window_file_take("w", longer, f.file->bytes + 1, &got, &err));
  free(longer);
  cr_assert_not(window_file_read("/nowhere/window0.pdw", &got, &err));
  tear_down(&f);
}

/* Where the rows of section `id` begin. */
static size_t rows_at(const memory_file *file, uint32_t id) {
  size_t at = sizeof(pd_window_head);
  while (at + sizeof(pd_window_section) <= file->bytes) {
    pd_window_section head;
    memcpy(&head, file->data + at, sizeof head);
    at += sizeof head;
    if (head.id == id) return at;
    at += head.stride * head.count;
  }
  cr_assert_fail("no section %u", id);
  return 0;
}

PD_TEST(window, an_index_that_points_nowhere_is_told) {
  static error err;
  static const struct {
    uint32_t id;
    size_t offset;
    const char *what;
  } faults[] = {{PD_WINDOW_RANGES, offsetof(pd_range, parent), "a range's row is wrong"},
                {PD_WINDOW_RANGES, offsetof(pd_range, thread), "a range's row is wrong"},
                {PD_WINDOW_CALLS, offsetof(pd_call, activity_first), "a call's row is wrong"},
                {PD_WINDOW_ACTIVITIES, offsetof(pd_device_row, call), "a device record's row is wrong"},
                {PD_WINDOW_ACTIVITIES_BY_CALL, 0, "a device record's row is wrong"},
                {PD_WINDOW_MEMORY, offsetof(pd_memory_row, range), "a memory event's row is wrong"},
                {PD_WINDOW_OTHERS, offsetof(pd_other_row, name), "a thread's, stream's"},
                {PD_WINDOW_STEPS, offsetof(pd_trace_step, end_ns) + 4, "a step's row is wrong"}};
  fixture f;
  window_file got;
  set_up(&f);
  for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
    const uint32_t far = 1000000000;
    uint32_t was;
    char *at = f.file->data + rows_at(f.file, faults[i].id) + faults[i].offset;
    memcpy(&was, at, sizeof was);
    memcpy(at, &far, sizeof far);
    error_clear(&err);
    cr_assert_not(window_file_take("w", f.file->data, f.file->bytes, &got, &err));
    cr_assert_not_null(strstr(err.text, faults[i].what), "%zu: %s", i, err.text);
    memcpy(at, &was, sizeof was);
  }
  error_clear(&err);
  cr_assert(window_file_take("w", f.file->data, f.file->bytes, &got, &err), "%s", err.text);
  window_file_close(&got);
  tear_down(&f);
}

/* The file with every section's rows cut by `less` bytes, where they are as long as `least`, and without the section
 * `left_out`. Free it. */
static char *older_file(const memory_file *file, size_t least, size_t less, uint32_t left_out, size_t *bytes) {
  char *out = malloc(file->bytes), *to = out;
  pd_window_head head;
  memcpy(&head, file->data, sizeof head);
  head.sections--;
  memcpy(to, &head, sizeof head);
  to += sizeof head;
  for (size_t at = sizeof head; at < file->bytes;) {
    pd_window_section section;
    memcpy(&section, file->data + at, sizeof section);
    const char *rows = file->data + at + sizeof section;
    const size_t stride = section.stride, kept = stride >= least ? stride - less : stride;
    at += sizeof section + stride * section.count;
    if (section.id == left_out) continue;
    section.stride = (uint32_t)kept;
    memcpy(to, &section, sizeof section);
    to += sizeof section;
    for (uint64_t i = 0; i < section.count; i++, to += kept) memcpy(to, rows + i * stride, kept);
  }
  *bytes = (size_t)(to - out);
  return out;
}

static void without_last_text(char *file, size_t *bytes) {
  for (size_t at = sizeof(pd_window_head); at < *bytes;) {
    pd_window_section section;
    memcpy(&section, file + at, sizeof section);
    const size_t end = at + sizeof section + section.stride * section.count;
    if (section.id == PD_WINDOW_TEXTS) {
      size_t last = end - 1; /* its zero */
      while (file[last - 1]) last--;
      section.count -= end - last;
      memcpy(file + at, &section, sizeof section);
      memmove(file + last, file + end, *bytes - end);
      *bytes -= end - last;
      return;
    }
    at = end;
  }
}

PD_TEST(window, what_an_earlier_version_left_out_is_nothing) {
  static error err;
  fixture f;
  window_file got;
  size_t bytes;
  set_up(&f);
  char *older = older_file(f.file, sizeof(pd_trace), sizeof(pd_array), PD_WINDOW_LOSS_ROWS, &bytes);
  cr_assert(window_file_take("w", older, bytes, &got, &err), "%s", err.text);
  SAME(calls, pd_call);
  SAME(activities, pd_device_row);
  cr_assert_eq(got.trace.loss_rows.count, 0);
  cr_assert_eq(got.trace.profile, f.trace->profile);
  window_file_close(&got);
  free(older);
  older = older_file(f.file, sizeof(pd_trace), 0, PD_WINDOW_LOSS_ROWS, &bytes);
  without_last_text(older, &bytes);
  without_last_text(older, &bytes);
  cr_assert(window_file_take("w", older, bytes, &got, &err), "%s", err.text);
  cr_assert_str_eq(got.texts[PD_WINDOW_TEXT_CURES], "");
  cr_assert_str_eq(got.texts[PD_WINDOW_TEXT_PROFILE_NOTE], "");
  window_file_close(&got);
  without_last_text(older, &bytes);
  cr_assert_not(window_file_take("w", older, bytes, &got, &err));
  cr_assert_not_null(strstr(err.text, "its texts are not complete"), "%s", err.text);
  free(older);
  error_clear(&err);
  older = older_file(f.file, sizeof(pd_trace), 0, PD_WINDOW_CALLS, &bytes);
  cr_assert_not(window_file_take("w", older, bytes, &got, &err));
  cr_assert_not_null(strstr(err.text, "a section is missing"), "%s", err.text);
  free(older);
  error_clear(&err);
  older = older_file(f.file, sizeof(pd_window_run), sizeof(pd_window_run) / 2 + 8, PD_WINDOW_LOSS_ROWS, &bytes);
  cr_assert_not(window_file_take("w", older, bytes, &got, &err));
  cr_assert_not_null(strstr(err.text, "its rows are too small"), "%s", err.text);
  free(older);
  tear_down(&f);
}

PD_TEST(window, rows_of_a_later_version_are_refused) {
  static error err;
  fixture f;
  window_file got;
  set_up(&f);
  char *stride =
      f.file->data + rows_at(f.file, PD_WINDOW_RUN) - sizeof(pd_window_section) + offsetof(pd_window_section, stride);
  const uint32_t larger = sizeof(pd_window_run) + 8;
  memcpy(stride, &larger, sizeof larger);
  cr_assert_not(window_file_take("w", f.file->data, f.file->bytes, &got, &err));
  cr_assert_not_null(strstr(err.text, "a later version of pdhost wrote it"), "%s", err.text);
  tear_down(&f);
}

PD_TEST(window, what_the_run_could_have_comes_back) {
  static error err;
  static const uint32_t sizes[] = {sizeof(pd_run), offsetof(pd_run, offers)}; /* a later and an earlier host */
  for (size_t i = 0; i < 2; i++) {
    fixture f;
    window_file got;
    pd_run run = *fake_run("out");
    run.offers = PD_OFFER_KNOWN | PD_OFFER_FUSED;
    run.size = sizes[i];
    set_up_run(&f, &run);
    cr_assert(window_file_take("w", f.file->data, f.file->bytes, &got, &err), "%s", err.text);
    cr_assert_eq(got.run.offers, i ? 0 : run.offers);
    window_file_close(&got);
    tear_down(&f);
  }
}

PD_TEST(window, rows_of_an_older_host_and_its_files_lack_what_came_later) {
  static error err;
  enum { ROW_1_0 = offsetof(pd_other_row, device) };
  fixture f;
  window_file got;
  set_up_trace(&f);
  const pd_array whole = f.trace->others;
  char *older = malloc((size_t)whole.count * ROW_1_0);
  cr_assert(older && whole.count);
  for (size_t i = 0; i < whole.count; i++) memcpy(older + i * ROW_1_0, PD_AT(pd_other_row, &whole, i), ROW_1_0);
  f.trace->others = (pd_array){older, whole.count, ROW_1_0};
  keep(&f, fake_run("out"));
  cr_assert(window_file_take("w", f.file->data, f.file->bytes, &got, &err), "%s", err.text);
  cr_assert_eq(got.trace.others.count, whole.count);
  for (size_t i = 0; i < whole.count; i++) {
    const pd_other_row *row = PD_AT(pd_other_row, &got.trace.others, i);
    cr_assert_eq(memcmp(row, PD_AT(pd_other_row, &whole, i), ROW_1_0), 0);
    cr_assert_eq(row->context, 0);
  }
  window_file_close(&got);
  free(older);
  tear_down(&f);
}

PD_TEST(window, another_version_is_refused) {
  static error err;
  fixture f;
  window_file got;
  set_up(&f);
  f.file->data[offsetof(pd_window_head, format)]++;
  cr_assert_not(window_file_take("w", f.file->data, f.file->bytes, &got, &err));
  cr_assert_not_null(strstr(err.text, "another version"), "%s", err.text);
  tear_down(&f);
}
