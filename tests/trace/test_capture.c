/* The capture file: a window read back is the window merged in memory, and what is torn is skipped and counted. */
#include "recorder_rig.h"
#include "capture/crc32c.h"
#include "trace/kept/salvage.h"
#include "trace/saved_window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void make_path(char *path, size_t room) {
  char folder[] = "/tmp/pdcapXXXXXX";
  cr_assert_not_null(mkdtemp(folder));
  (void)snprintf(path, room, "%s/run.pdcap", folder);
}

static void remove_path(char *path) {
  (void)unlink(path);
  *strrchr(path, '/') = '\0';
  (void)rmdir(path);
}

static unsigned char *read_file(const char *path, size_t *bytes) {
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file);
  cr_assert_eq(fseek(file, 0, SEEK_END), 0);
  *bytes = (size_t)ftell(file);
  rewind(file);
  unsigned char *data = malloc(*bytes + 1);
  cr_assert_not_null(data);
  cr_assert_eq(fread(data, 1, *bytes, file), *bytes);
  cr_assert_eq(fclose(file), 0);
  return data;
}

PD_TEST(capture, checksums_are_those_of_the_standard) {
  unsigned char bytes[100];
  cr_assert_eq(crc32c(0, "123456789", 9), 0xE3069283);
  cr_assert_eq(crc32c_plain(0, "123456789", 9), 0xE3069283);
  for (unsigned i = 0; i < sizeof bytes; i++) bytes[i] = (unsigned char)(i * 37 + 11);
  for (size_t from = 0; from < 9; from++)
    for (size_t to = from; to <= sizeof bytes; to++) {
      const uint32_t all = crc32c(0, bytes + from, to - from);
      cr_assert_eq(crc32c_plain(0, bytes + from, to - from), all);
      cr_assert_eq(
          crc32c(crc32c(0, bytes + from, (to - from) / 2), bytes + from + (to - from) / 2, to - from - (to - from) / 2),
          all);
    }
}

static void same_array(const pd_array *one, const pd_array *two, const char *name) {
  cr_assert_eq(one->count, two->count, "%s: %llu and %llu", name, (unsigned long long)one->count,
               (unsigned long long)two->count);
  cr_assert_eq(one->stride, two->stride);
  if (one->count) cr_assert_arr_eq(one->data, two->data, one->count * one->stride, "%s differ", name);
}

static void same_trace(const pd_trace *one, const pd_trace *two) {
  cr_assert_eq(one->base_ns, two->base_ns);
  cr_assert_eq(one->end_ns, two->end_ns);
  cr_assert_eq(one->pid, two->pid);
  cr_assert_eq(one->window, two->window);
  cr_assert_eq(one->profile, two->profile);
  cr_assert_eq(one->start_allocated_bytes, two->start_allocated_bytes);
  cr_assert_eq(one->copies_ahead, two->copies_ahead);
  cr_assert_eq(one->graph_input_bytes, two->graph_input_bytes);
  cr_assert_eq(one->graph_input_bytes, 1234);
  cr_assert_eq(one->corrected_ns, two->corrected_ns);
  cr_assert_eq(one->unprofiled_step_ns, two->unprofiled_step_ns);
  cr_assert_eq((one->profile_note != NULL), (two->profile_note != NULL));
  if (one->profile_note) cr_assert_str_eq(one->profile_note, two->profile_note);
  cr_assert_arr_eq(one->losses, two->losses, sizeof one->losses);
  same_array(&one->threads, &two->threads, "threads");
  same_array(&one->streams, &two->streams, "streams");
  same_array(&one->ranges, &two->ranges, "ranges");
  same_array(&one->calls, &two->calls, "calls");
  same_array(&one->activities, &two->activities, "device records");
  same_array(&one->activities_by_call, &two->activities_by_call, "records by call");
  same_array(&one->others, &two->others, "others");
  same_array(&one->memory, &two->memory, "memory events");
  same_array(&one->counters, &two->counters, "counters");
  same_array(&one->steps, &two->steps, "steps");
  same_array(&one->shapes, &two->shapes, "shapes");
  same_array(&one->loss_rows, &two->loss_rows, "losses");
  cr_assert_eq(one->strings.count, two->strings.count);
  for (uint64_t i = 0; i < one->strings.count; i++)
    cr_assert_str_eq(trace_text(one, (uint32_t)i), trace_text(two, (uint32_t)i), "string %llu", (unsigned long long)i);
  cr_assert_eq(one->stacks.count, two->stacks.count);
  for (uint64_t i = 0; i < one->stacks.count; i++) {
    const pd_stack *first = PD_AT(pd_stack, &one->stacks, i), *second = PD_AT(pd_stack, &two->stacks, i);
    cr_assert_eq(first->count, second->count);
    cr_assert_arr_eq(first->frames, second->frames, first->count * sizeof *first->frames);
  }
}

enum { WINDOWS = 3, STEPS = 4, OPERATIONS = 900, DETAILS_MISSING = 16 };

/* Everything that a window may hold, more than one record of each. Returns where it ends. */
static uint64_t fill_window(rig *self, uint32_t window, uint64_t at, double losses[STEPS]) {
  const pd_shape shapes[2] = {{.rank = 2, .dtype = 1, .dims = {3, 4}}, {.rank = 1, .dtype = 2, .dims = {window + 1}}};
  const uint64_t first_step = window ? ((uint64_t)window << 31) - 2 : 0; /* their names have fewer bits than they */
  uint64_t id = 1000 * (window + 1);
  rig_window_at(self, at, window);
  for (uint64_t step = 0; step < STEPS; step++) {
    rig_at(self, at += 10);
    self->record->begin(self->record, recorder_step_name(first_step + step), PD_RANGE_STEP, NULL);
    for (int i = 0; i < OPERATIONS; i++) {
      char name[32];
      (void)snprintf(name, sizeof name, "operation %u.%d", window, i % 40);
      const pd_range_info info = {.size = sizeof info, .flops = (uint64_t)i, .shapes = shapes, .shape_count = 2};
      rig_at(self, at += 20);
      self->record->begin(self->record, self->record->intern(self->record, name), PD_RANGE_OP, &info);
      rig_give(self, rig_call(self, "cudaLaunchKernel", PD_API_LAUNCH, id, (int64_t)at + 1, (int64_t)at + 3));
      if (i % 7) rig_give(self, rig_kernel(self, name, id, (int64_t)at + 2, (int64_t)at + 9));
      id++;
      self->record->memory(self->record, &(pd_memory_event){.address = at, .bytes = i % 2 ? 64 : -64, .device = 1});
      self->record->counter(self->record, self->record->intern(self->record, "queue"), i / 3.0);
      rig_end_at(self, at += 10);
    }
    rig_end_at(self, at += 10);
    rig_step_at(self, at, first_step + step);
    losses[step] = 1.0 / (double)(step + 1);
  }
  self->record->lost(self->record, PD_LOSS_MEMORY_FULL, 5);
  rig_begin_at(self, at, "still open", PD_RANGE_USER);
  return at;
}

static recorder_window end_of(uint32_t window, const double *losses) {
  return (recorder_window){.profile = window == 1 ? PD_PROFILE_EVENTS : PD_PROFILE_FULL,
                           .profile_note = window == 1 ? "no CUPTI" : NULL,
                           .losses = losses,
                           .start_allocated_bytes = 17,
                           .unprofiled_step_ns = 99,
                           .graph_input_bytes = 1234,
                           .copies_ahead = window == 2};
}

static pd_trace *record_window(rig *self, uint32_t window, uint64_t at) {
  double losses[STEPS];
  pd_trace *trace = NULL;
  at = fill_window(self, window, at, losses);
  const recorder_window end = end_of(window, losses);
  cr_assert_eq(recorder_window_end(self->recorder, &end, &trace), PD_OK);
  rig_end_at(self, at + 5);
  return trace;
}

static void record_all(const char *path, pd_trace *traces[WINDOWS]) {
  rig self;
  capture_writer writer;
  rig_open(&self, (recorder_options){
                      .max_bytes = 64 << 20, .record_shapes = true, .profile_memory = true, .with_stack = true});
  cr_assert_eq(capture_create(&writer, path, CAPTURE_OF_RUN, 7, 123), PD_OK);
  recorder_save_to(self.recorder, &writer);
  for (uint32_t i = 0; i < WINDOWS; i++) traces[i] = record_window(&self, i, 2000 + 1000000 * (uint64_t)i);
  cr_assert_eq(capture_close(&writer, true), PD_OK);
  rig_close(&self);
}

static void add_strings(saved_strings *strings, const capture_reader *reader, const capture_record *at) {
  void *payload = malloc((size_t)at->bytes + 1);
  cr_assert_not_null(payload);
  cr_assert_eq(capture_payload(reader, at, payload), PD_OK);
  cr_assert_eq(saved_strings_add(strings, payload, at->bytes, at->at + at->bytes), PD_OK);
  free(payload);
}

/* Reads all windows that can be read; returns how many. `traces`: what they are to be; NULL: anything. */
static uint32_t read_windows(const capture_reader *reader, pd_trace *const *traces, uint64_t *missing) {
  saved_strings strings;
  uint32_t count = 0;
  *missing = 0;
  cr_assert_eq(saved_strings_open(&strings), PD_OK);
  for (uint64_t i = 0; i < reader->count; i++) {
    saved_window window;
    pd_trace *trace = NULL;
    if (reader->records[i].kind == CAPTURE_STRINGS) add_strings(&strings, reader, &reader->records[i]);
    if (reader->records[i].kind != CAPTURE_WINDOW) continue;
    if (saved_window_load(&window, reader, i, &strings) != PD_OK) continue;
    cr_assert_eq(saved_window_merge(&window, &trace), PD_OK);
    if (traces) same_trace(traces[count], trace);
    for (uint64_t k = 0; k < window.missing_count; k++) *missing += window.missing[k].count;
    trace_free(trace);
    saved_window_free(&window);
    count++;
  }
  saved_strings_close(&strings);
  return count;
}

PD_TEST(capture, an_open_window_read_out_of_its_room_is_the_window_that_its_end_makes) {
  char path[64];
  rig self;
  trace_room *room;
  capture_writer writer;
  capture_reader reader;
  uint64_t missing;
  make_path(path, sizeof path);
  cr_assert_eq(room_open(64 << 20, true, &room), PD_OK);
  rig_open(&self,
           (recorder_options){.max_bytes = 64 << 20, .record_shapes = true, .profile_memory = true, .room = room});
  cr_assert_eq(capture_create(&writer, path, CAPTURE_OF_RUN, 7, 123), PD_OK);
  const recorder_window none = {.profile = PD_PROFILE_NONE};
  const clock_source *source = &self.recorder->clock.source;
  cr_assert_eq(room_salvage(room, &none, NULL, 0, source, &writer), PD_STOP, "none is open yet");
  for (uint32_t window = 0; window < WINDOWS; window++) {
    double losses[STEPS];
    pd_trace *traces[WINDOWS] = {NULL};
    (void)fill_window(&self, window, 2000 + 1000000 * (uint64_t)window, losses);
    const recorder_window end = end_of(window, losses);
    cr_assert_eq(capture_create(&writer, path, CAPTURE_OF_RUN, 7, 123), window ? PD_OK : PD_IO);
    if (!window) cr_assert_eq(capture_extend(&writer, path), PD_OK);
    cr_assert_eq(room_salvage(room, &end, self.recorder->steps, self.recorder->step_count, source, &writer), PD_OK);
    cr_assert_eq(capture_close(&writer, false), PD_OK);
    cr_assert_eq(recorder_window_end(self.recorder, &end, &traces[0]), PD_OK);
    cr_assert_eq(capture_open(&reader, path), PD_OK);
    cr_assert_eq(read_windows(&reader, traces, &missing), 1);
    cr_assert_eq(missing, 0);
    capture_reader_close(&reader);
    trace_free(traces[0]);
    cr_assert_eq(unlink(path), 0);
    rig_end_at(&self, 2000 + 1000000 * (uint64_t)window + 500000);
    cr_assert_eq(room_salvage(room, &end, NULL, 0, source, &writer), PD_STOP, "it has ended");
  }
  rig_close(&self);
  room_close(room);
  remove_path(path);
}

static uint32_t strings_of(const pd_trace *trace, const char *text) {
  uint32_t found = 0;
  for (uint64_t i = 0; i < trace->strings.count; i++) found += strcmp(trace_text(trace, (uint32_t)i), text) == 0;
  return found;
}

/* A step's range has its number in the trace, and the table of texts does not grow with the steps. */
PD_TEST(capture, names_of_steps_are_of_their_window_alone) {
  static const char *const firsts[WINDOWS] = {"ProfilerStep#0", "ProfilerStep#2147483646", "ProfilerStep#4294967294"};
  static const char *const lasts[WINDOWS] = {"ProfilerStep#3", "ProfilerStep#2147483649", "ProfilerStep#4294967297"};
  char path[64];
  pd_trace *traces[WINDOWS];
  make_path(path, sizeof path);
  record_all(path, traces);
  for (int i = 0; i < WINDOWS; i++) {
    cr_assert_eq(strings_of(traces[i], firsts[i]), 1, "window %d", i);
    cr_assert_eq(strings_of(traces[i], lasts[i]), 1, "window %d", i);
    for (int other = 0; other < WINDOWS; other++) cr_assert_eq(strings_of(traces[i], lasts[other]), i == other);
  }
  for (int i = 0; i < WINDOWS; i++) trace_free(traces[i]);
  remove_path(path);
}

PD_TEST(capture, a_window_read_back_is_the_window_merged_in_memory) {
  char path[64];
  pd_trace *traces[WINDOWS];
  capture_reader reader;
  uint64_t missing;
  make_path(path, sizeof path);
  record_all(path, traces);
  cr_assert_gt(traces[0]->stacks.count, 0);
  cr_assert_gt(traces[2]->ranges.count, STEPS * OPERATIONS);
  cr_assert_eq(capture_open(&reader, path), PD_OK);
  cr_assert_eq(reader.head.pid, 7);
  cr_assert_eq(reader.torn, 0);
  cr_assert_eq(reader.whole_bytes, reader.bytes);
  cr_assert_eq(read_windows(&reader, traces, &missing), WINDOWS);
  cr_assert_eq(missing, 0);
  for (int i = 0; i < WINDOWS; i++) trace_free(traces[i]);
  capture_reader_close(&reader);
  remove_path(path);
}

/* One byte changed in any record: that record alone is gone, and its rows are known to be missing. */
PD_TEST(capture, a_torn_record_is_skipped_and_its_rows_are_counted) {
  char path[64];
  pd_trace *traces[WINDOWS];
  capture_reader whole, torn;
  size_t bytes;
  uint64_t missing;
  make_path(path, sizeof path);
  record_all(path, traces);
  unsigned char *data = read_file(path, &bytes);
  cr_assert_eq(capture_open_memory(&whole, data, bytes), PD_OK);
  for (uint64_t i = 0; i < whole.count; i++) {
    const capture_record *record = &whole.records[i];
    const uint64_t places[] = {record->at, record->at - sizeof(capture_head) + 4};
    for (int k = 0; k < 2; k++) {
      data[places[k]] ^= 0x5A;
      cr_assert_eq(capture_open_memory(&torn, data, bytes), PD_OK);
      cr_assert_eq(torn.count, whole.count - 1, "record %llu, a %s", (unsigned long long)i,
                   capture_kind_text(record->kind));
      cr_assert_eq(torn.torn, 1);
      cr_assert_eq(torn.torn_bytes, sizeof(capture_head) + (record->bytes + 7) / 8 * 8);
      if (record->kind >= CAPTURE_RANGES && record->kind <= CAPTURE_DEVICES && i % DETAILS_MISSING == 0) {
        cr_assert_eq(read_windows(&torn, NULL, &missing), WINDOWS);
        cr_assert_eq(missing, record->count, "of %s", capture_kind_text(record->kind));
      }
      capture_reader_close(&torn);
      data[places[k]] ^= 0x5A;
    }
  }
  capture_reader_close(&whole);
  free(data);
  for (int i = 0; i < WINDOWS; i++) trace_free(traces[i]);
  remove_path(path);
}

/* Cut anywhere: what was whole is read, and a writer can go on behind it. */
PD_TEST(capture, a_file_that_was_cut_is_read_to_its_last_whole_record) {
  char path[64], cut_path[80];
  pd_trace *traces[WINDOWS];
  capture_reader whole, cut;
  capture_writer writer;
  size_t bytes;
  make_path(path, sizeof path);
  record_all(path, traces);
  unsigned char *data = read_file(path, &bytes);
  cr_assert_eq(capture_open_memory(&whole, data, bytes), PD_OK);
  for (size_t at = 0; at < bytes; at += at < 4096 ? 1 : 40961) {
    if (capture_open_memory(&cut, data, at) == PD_OK) {
      uint64_t fits = 0;
      while (fits < whole.count && whole.records[fits].at + (whole.records[fits].bytes + 7) / 8 * 8 <= at) fits++;
      cr_assert_eq(cut.count, fits, "cut at %zu", at);
    } else {
      cr_assert_lt(at, sizeof(capture_file_head));
    }
    capture_reader_close(&cut);
  }
  (void)snprintf(cut_path, sizeof cut_path, "%s.cut", path);
  FILE *file = fopen(cut_path, "wb");
  cr_assert_not_null(file);
  cr_assert_eq(fwrite(data, 1, bytes / 2 + 5, file), bytes / 2 + 5);
  cr_assert_eq(fclose(file), 0);
  cr_assert_eq(capture_extend(&writer, cut_path), PD_OK);
  cr_assert_gt(writer.strings_written, 10);
  cr_assert_eq(capture_put_text(&writer, CAPTURE_SUMMARY, CAPTURE_NO_WINDOW, "{}"), PD_OK);
  cr_assert_eq(capture_close(&writer, false), PD_OK);
  cr_assert_eq(capture_open(&cut, cut_path), PD_OK);
  cr_assert_eq(cut.torn, 0);
  cr_assert_eq(cut.records[cut.count - 1].kind, CAPTURE_SUMMARY);
  capture_reader_close(&cut);
  capture_reader_close(&whole);
  (void)unlink(cut_path);
  free(data);
  for (int i = 0; i < WINDOWS; i++) trace_free(traces[i]);
  remove_path(path);
}

PD_TEST(capture, a_full_disk_ends_the_capture_and_not_the_window) {
  rig self;
  capture_writer writer = {.fd = -1};
  rig_open(&self, (recorder_options){.max_bytes = 64 << 20});
  FILE *full = fopen("/dev/full", "wb");
  cr_assert_not_null(full);
  writer.fd = dup(fileno(full));
  cr_assert_eq(fclose(full), 0);
  recorder_save_to(self.recorder, &writer);
  pd_trace *trace = record_window(&self, 0, 2000);
  cr_assert_not_null(trace);
  cr_assert_eq(writer.fault, ENOSPC);
  cr_assert_eq(capture_close(&writer, false), PD_IO);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(capture, what_is_no_capture_is_refused) {
  capture_reader reader;
  capture_writer writer;
  char path[64];
  cr_assert_eq(capture_open(&reader, "/nonexistent.pdcap"), PD_IO);
  capture_reader_close(&reader);
  cr_assert_eq(capture_open(&reader, "/dev/zero"), PD_INVALID);
  capture_reader_close(&reader);
  cr_assert_eq(capture_open_memory(&reader, "PDWINDOW", 8), PD_INVALID);
  capture_reader_close(&reader);
  make_path(path, sizeof path);
  cr_assert_eq(capture_create(&writer, path, CAPTURE_OF_RUN, 1, 1), PD_OK);
  cr_assert_eq(capture_close(&writer, false), PD_OK);
  cr_assert_eq(capture_create(&writer, path, CAPTURE_OF_RUN, 1, 1), PD_IO, "another's file is never written over");
  cr_assert_eq(errno, EEXIST);
  size_t bytes;
  unsigned char *data = read_file(path, &bytes);
  data[8]++; /* the version */
  cr_assert_eq(capture_open_memory(&reader, data, bytes), PD_INVALID);
  capture_reader_close(&reader);
  free(data);
  remove_path(path);
}
