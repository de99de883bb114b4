/* The chrome_trace sink over traces that bytes make up: whatever their times and ties, the file is JSON, and what lies
 * on the device's own tracks nests. The fake's rules make the trace itself consistent. */
#include "fuzz.h"

#include "fake_trace.h"
#include "json_reader.h"
#include "sink_run.h"

#include <stdlib.h>

enum { MOST_ROWS = 60 };

typedef struct driver {
  const uint8_t *at, *end;
} driver;

static uint32_t next(driver *in) { return in->at < in->end ? *in->at++ : 0; }

/* A span of some nanoseconds to microseconds, so that rows meet, touch and overlap. */
static void next_span(driver *in, int64_t *start_ns, int64_t *end_ns) {
  *start_ns = 1000 + 16 * (int64_t)next(in) + (int64_t)(next(in) % 3);
  *end_ns = *start_ns + (int64_t)next(in) * (next(in) % 4 ? 1 : 50);
}

static void add_row(fake_trace *fake, driver *in, uint32_t thread, uint32_t stream) {
  static const char *const names[] = {"a", "", "quote \" and \x01", "aten::conv2d", "train_step"};
  const char *name = names[next(in) % 5];
  const uint32_t kind = next(in);
  int64_t start_ns, end_ns;
  next_span(in, &start_ns, &end_ns);
  switch (kind % 6) {
  case 0:
  case 1: {
    pd_range *range = fake_range(fake, 1 + next(in) % 7, name, next(in) % 2 ? thread : 0, start_ns, end_ns);
    range->sequence = next(in) % 8;
    range->backward = next(in) % 2;
    break;
  }
  case 2:
    fake_call(fake, next(in) % 8, "cudaLaunchKernel", next(in) % 2 ? thread : 0, start_ns, end_ns, next(in) % 16);
    break;
  case 3: fake_kernel(fake, name, stream, start_ns, end_ns, next(in) % 16); break;
  case 4: {
    const bool of_stream = next(in) % 2;
    pd_other_row *wait =
        fake_other(fake, PD_ACTIVITY_SYNC, "Stream Sync", of_stream ? stream : PD_NONE, start_ns, end_ns);
    if (!of_stream) wait->device = next(in) % 3;
    wait->correlation = next(in) % 16;
    break;
  }
  default: fake_memory(fake, thread, start_ns, 1 + next(in), 1 - (int64_t)next(in), next(in), next(in));
  }
}

/* No two rows of one stream's tracks overlap in part. */
static void check_device_tracks(const json_node *events) {
  for (const json_node *a = events->first; a; a = a->next) {
    if (!json_reader_is(json_reader_get(a, "cat"), "kernel")) continue;
    for (const json_node *b = a->next; b; b = b->next) {
      if (!json_reader_is(json_reader_get(b, "cat"), "kernel"))
        continue; /* MOST_ROWS is less than a stream has lanes */
      const double tid = json_reader_get(a, "tid")->number;
      const double a_start = json_reader_get(a, "ts")->number, a_end = a_start + json_reader_get(a, "dur")->number;
      const double b_start = json_reader_get(b, "ts")->number, b_end = b_start + json_reader_get(b, "dur")->number;
      if (tid != json_reader_get(b, "tid")->number) continue;
      check(b_start >= a_end - 1e-6 || a_start >= b_end - 1e-6);
    }
  }
}

/* Every flow has both its ends. */
static void check_flows(const json_node *events) {
  bool begun[16] = {false}, ended[16] = {false};
  for (const json_node *event = events->first; event; event = event->next) {
    if (!json_reader_is(json_reader_get(event, "cat"), "ac2g")) continue;
    const size_t id = (size_t)json_reader_get(event, "id")->number % 16;
    if (json_reader_is(json_reader_get(event, "ph"), "s"))
      begun[id] = true;
    else
      ended[id] = true;
  }
  check(memcmp(begun, ended, sizeof begun) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const char *const settings[][3] = {{NULL}, {"flows=compact", NULL}, {"split_size=3000", "gzip=false", NULL}};
  driver in = {data, data + size};
  sink_run run;
  fake_trace *fake = fake_trace_open();
  if (!fake) return 0;
  const uint32_t thread = fake_thread(fake, next(&in) % 3 ? 4250 : 7, "worker");
  const uint32_t stream = fake_stream(fake, 0, 1, 7);
  for (uint32_t steps = next(&in) % 4, i = 0; i < steps; i++)
    fake_step(fake, i, 1000 + (int64_t)i * 1500, 1000 + (int64_t)(i + 1) * 1500);
  const char *const *chosen = settings[next(&in) % 3];
  for (int i = 0; i < MOST_ROWS && in.at < in.end; i++) add_row(fake, &in, thread, stream);
  check(sink_run_load(&run, SINK_PATH, chosen));
  check(sink_run_open(&run, fake_run("traces")) == PD_OK);
  check(sink_run_trace(&run, fake_trace_finish(fake)) == PD_OK);
  check(sink_run_close(&run, fake_summary()) == PD_OK);
  for (uint32_t i = 0; i < run.count; i++) {
    json_node *root = json_reader_parse(run.all[i]->data, run.all[i]->bytes);
    check(root != NULL);
    check_device_tracks(json_reader_get(root, "traceEvents"));
    if (chosen == settings[0]) check_flows(json_reader_get(root, "traceEvents"));
    json_reader_free(root);
  }
  sink_run_unload(&run);
  fake_trace_close(fake);
  return 0;
}
