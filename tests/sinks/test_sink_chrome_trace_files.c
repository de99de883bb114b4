/* The files of the chrome_trace sink: compression, parts, windows, a full disk. */
#include "chrome_trace_reader.h"

#include <zlib.h>

static char *inflate_all(const memory_file *file, uint64_t *bytes) {
  z_stream stream = {.next_in = (Bytef *)file->data, .avail_in = (uInt)file->bytes};
  uint64_t room = 64 + 40 * file->bytes;
  char *text = malloc(room);
  cr_assert_not_null(text);
  cr_assert_eq(inflateInit2(&stream, 16 + MAX_WBITS), Z_OK);
  stream.next_out = (Bytef *)text;
  stream.avail_out = (uInt)room;
  cr_assert_eq(inflate(&stream, Z_FINISH), Z_STREAM_END, "the checksum and length must hold too");
  cr_assert_eq(stream.avail_in, 0, "one member alone");
  *bytes = stream.total_out;
  inflateEnd(&stream);
  return text;
}

PD_TEST(sink_chrome_trace_files, gzip_holds_the_same_bytes) {
  written plain, packed;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 2, 300); /* more than two chunks of the compressor */
  const pd_trace *trace = fake_trace_finish(fake);
  write_trace(&plain, trace, NULL);
  write_trace(&packed, trace, (const char *[]){"gzip=true", NULL});
  cr_assert_gt(plain.run.all[0]->bytes, 2u << 20);
  cr_assert_lt(packed.run.all[0]->bytes, plain.run.all[0]->bytes / 5);
  cr_assert_str_eq(packed.run.all[0]->path, "traces/fakehost_4242.0.1790857026001000000.pt.trace.json.gz");
  uint64_t bytes;
  char *text = inflate_all(packed.run.all[0], &bytes);
  const uint64_t same = plain.run.all[0]->bytes - 60; /* up to the file's own name */
  cr_assert_geq(bytes, same);
  cr_assert_eq(memcmp(text, plain.run.all[0]->data, same), 0);
  json_node *root = json_reader_parse(text, bytes);
  cr_assert_not_null(root);
  json_reader_free(root);
  free(text);
  drop(&plain);
  drop(&packed);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace_files, a_split_window_loses_nothing) {
  written out;
  size_t kernels = 0, steps = 0, starts = 0;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 2, 9);
  write_parsed(&out, fake_trace_finish(fake), (const char *[]){"split_size=30000", NULL});
  cr_assert_gt(out.run.count, 2);
  for (uint32_t i = 0; i < out.run.count; i++) {
    cr_assert(out.run.all[i]->committed);
    for (uint32_t k = 0; k < i; k++) cr_assert_str_neq(out.run.all[i]->path, out.run.all[k]->path);
    json_node *root = json_reader_parse(out.run.all[i]->data, out.run.all[i]->bytes);
    cr_assert_not_null(root);
    const json_node *events = json_reader_get(root, "traceEvents");
    expect_nesting(events);
    const size_t here = count(events, "s", "ac2g", NULL);
    expect_flows(events, "ac2g", here, here);
    starts += here;
    kernels += count(events, "X", "kernel", NULL);
    for (const json_node *event = events->first; event; event = event->next)
      steps +=
          is_event(event, "X", NULL, NULL) && strncmp(json_reader_get(event, "name")->text, "ProfilerStep#", 13) == 0;
    json_reader_free(root);
  }
  cr_assert_eq(kernels, 9 * 4);
  cr_assert_eq(steps, 9);
  cr_assert_eq(starts, 9 * 8);
  drop(&out);
  fake_trace_close(fake);
}

/* What counts is the JSON that a viewer has to hold, not the file. */
PD_TEST(sink_chrome_trace_files, more_than_viewers_open_is_told) {
  enum { LENGTH = 60000 };
  static char name[LENGTH + 1];
  memset(name, 'n', LENGTH);
  for (uint32_t large = 0; large < 2; large++) {
    written out;
    fake_trace *fake = open_fake();
    fake_step(fake, 1, 0, MS(1000));
    const int64_t ranges = large ? 3400 : 1000;
    for (int64_t i = 0; i < ranges; i++) fake_range(fake, PD_RANGE_OP, name, 0, i * 1000, i * 1000 + 900);
    write_trace(&out, fake_trace_finish(fake), (const char *[]){"gzip=true", NULL});
    cr_assert_eq(out.run.host.warnings, large);
    if (large) {
      cr_assert_not_null(strstr(out.run.host.warning, "traces/fakehost_4242.0."));
      cr_assert_not_null(strstr(out.run.host.warning, ".json.gz: 205 MB of JSON"), "%s", out.run.host.warning);
      cr_assert_not_null(strstr(out.run.host.warning, "split_size=100MiB"));
    }
    drop(&out);
    fake_trace_close(fake);
  }
}

PD_TEST(sink_chrome_trace_files, every_window_has_a_file) {
  sink_run run;
  cr_assert(sink_run_load(&run, SINK_PATH, NULL));
  cr_assert_eq(sink_run_open(&run, fake_run("traces")), PD_OK);
  for (uint32_t w = 0; w < 2; w++) {
    fake_trace *fake = open_fake();
    fake_trace_training(fake, 2, 1);
    pd_trace *trace = fake_trace_finish(fake);
    trace->window = w;
    cr_assert_eq(sink_run_trace(&run, trace), PD_OK);
    fake_trace_close(fake);
  }
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  cr_assert_eq(run.count, 2);
  cr_assert_str_eq(run.all[1]->path, "traces/fakehost_4242.1.1790857026001000000.pt.trace.json");
  sink_run_unload(&run);
}

/* The paths of two windows of a run that repeats `repeat` times (0: until it is ended), in up to two parts each. */
static void expect_paths(const char *const *settings, uint64_t repeat, const char *const *paths) {
  sink_run run;
  pd_run header = *fake_run("traces");
  header.repeat = repeat;
  cr_assert(sink_run_load(&run, SINK_PATH, settings), "%s", run.error);
  cr_assert_eq(sink_run_open(&run, &header), PD_OK, "%s", run.host.message);
  for (uint32_t w = 0; w < (repeat == 1 ? 1 : 2); w++) {
    fake_trace *fake = open_fake();
    fake_trace_training(fake, 2, 2);
    pd_trace *trace = fake_trace_finish(fake);
    trace->window = w;
    cr_assert_eq(sink_run_trace(&run, trace), PD_OK, "%s", run.host.message);
    fake_trace_close(fake);
  }
  cr_assert_eq(sink_run_close(&run, fake_summary()), PD_OK);
  for (uint32_t i = 0; i < run.count; i++) {
    cr_assert_not_null(paths[i], "%s is one too many", run.all[i]->path);
    cr_assert_str_eq(run.all[i]->path, paths[i]);
    const bool packed = run.all[i]->data[0] == '\x1f';
    cr_assert_eq(packed, strstr(paths[i], ".gz") != NULL);
  }
  cr_assert_null(paths[run.count]);
  sink_run_unload(&run);
}
#define SETTINGS(...) ((const char *[]){__VA_ARGS__, NULL})

PD_TEST(sink_chrome_trace_files, path_is_a_folder_or_a_file) {
  expect_paths(SETTINGS("path=other/folder"), 1,
               SETTINGS("other/folder/fakehost_4242.0.1790857026001000000.pt.trace.json"));
  expect_paths(SETTINGS("path=a.b", "gzip=true"), 1,
               SETTINGS("a.b/fakehost_4242.0.1790857026001000000.pt.trace.json.gz"));
  expect_paths(SETTINGS("path=my.json"), 1, SETTINGS("my.json"));
  expect_paths(SETTINGS("path=my.json.gz"), 1, SETTINGS("my.json.gz"));
  expect_paths(SETTINGS("path=my.json", "gzip=true"), 1, SETTINGS("my.json.gz"));
  expect_paths(SETTINGS("path=d/my.json"), 0, SETTINGS("d/my.0.json", "d/my.1.json"));
  expect_paths(SETTINGS("path=my.pt.trace.json.gz"), 2, SETTINGS("my.0.pt.trace.json.gz", "my.1.pt.trace.json.gz"));
  expect_paths(SETTINGS("path=my.json", "split_size=1"), 1, SETTINGS("my.0.json", "my.1.json"));
  expect_paths(SETTINGS("path=my.json", "split_size=1"), 2,
               SETTINGS("my.0.0.json", "my.0.1.json", "my.1.0.json", "my.1.1.json"));
  expect_paths(SETTINGS("path=-"), 1, SETTINGS("-"));
}

PD_TEST(sink_chrome_trace_files, standard_output_takes_one_file) {
  sink_run run;
  pd_run header = *fake_run("traces");
  header.repeat = 2;
  cr_assert(sink_run_load(&run, SINK_PATH, SETTINGS("path=-")));
  cr_assert_eq(sink_run_open(&run, &header), PD_INVALID);
  cr_assert_not_null(strstr(run.host.message, "give a folder"));
  sink_run_unload(&run);
}

/* After how many bytes; 0: when the file is to get its name. */
static void expect_failure(const char *const *settings, uint64_t after) {
  sink_run run;
  fake_trace *fake = open_fake();
  fake_trace_training(fake, 2, 300);
  cr_assert(sink_run_load(&run, SINK_PATH, settings));
  cr_assert_eq(sink_run_open(&run, fake_run("traces")), PD_OK);
  run.fail_after_bytes = after;
  run.fail_commit = !after;
  cr_assert_eq(sink_run_trace(&run, fake_trace_finish(fake)), PD_IO);
  cr_assert_not_null(strstr(run.host.message, after ? "cannot be written: disk full" : "cannot be renamed"));
  cr_assert_eq(sink_run_close(&run, NULL), PD_OK);
  cr_assert(run.all[0]->discarded && !run.all[0]->committed && !run.all[0]->announced);
  sink_run_unload(&run);
  fake_trace_close(fake);
}

PD_TEST(sink_chrome_trace_files, a_full_disk_is_an_error_and_leaves_nothing) {
  expect_failure(NULL, 1);
  expect_failure(NULL, 1500000);
  expect_failure((const char *[]){"gzip=true", NULL}, 5);
  expect_failure((const char *[]){"gzip=true", NULL}, 60000);
}

PD_TEST(sink_chrome_trace_files, a_file_that_cannot_be_renamed_is_an_error) {
  expect_failure(NULL, 0);
  expect_failure((const char *[]){"gzip=true", NULL}, 0);
}
