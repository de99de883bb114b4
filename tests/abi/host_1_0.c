/* A host of ABI 1.0: built against the headers of that release, it loads the plugins of today. Each lives a short life
 * with tables that end where 1.0 ended; what is newer may not be touched.
 *   usage: host_1_0 PLUGIN.so...   exit code 1: one of them did not do */
#include <pdhost/sink.h>
#include <pdhost/train.h>

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition, ...)                                                                                          \
  do {                                                                                                                 \
    if (condition) break;                                                                                              \
    printf("%s: ", file_name);                                                                                         \
    printf(__VA_ARGS__);                                                                                               \
    printf("\n");                                                                                                      \
    return false;                                                                                                      \
  } while (0)

static const char *file_name;
static char message[1024];

/* ---- services ---- */

PD_PRINTF(3, 4) static pd_status host_fail(const pd_host *host, pd_status code, const char *format, ...) {
  va_list args;
  (void)host;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  return code;
}
PD_PRINTF(3, 4) static void host_log(const pd_host *host, pd_log_level level, const char *format, ...) {
  (void)host;
  (void)level;
  (void)format;
}

static uint64_t kit_calls, bytes_written;
static pd_status kit_nothing(const pd_train *train) {
  (void)train;
  kit_calls++;
  return PD_OK;
}
static pd_status kit_configure(const pd_train *train, const pd_train_model *model) {
  (void)model;
  return kit_nothing(train);
}
static pd_status kit_step(const pd_train *train, const pd_step *step) {
  (void)step;
  return kit_nothing(train);
}
static pd_status kit_to_device(const pd_train *train, const pd_step *step, pd_tensor *images) {
  static float pixels[3];
  (void)step;
  *images = (pd_tensor){.data = pixels, .shape = {1, 3, 1, 1}, .rank = 4, .dtype = PD_F32};
  return kit_nothing(train);
}
static pd_status kit_item(const pd_train *train, double *loss) {
  *loss = 6.9;
  return kit_nothing(train);
}
static pd_status kit_empty_like(const pd_train *train, const pd_tensor *like, pd_allocator allocator, pd_tensor *out) {
  (void)allocator;
  *out = *like;
  out->data = calloc(3, sizeof(float));
  return out->data ? kit_nothing(train) : PD_NO_MEMORY;
}
static pd_status kit_tensor_free(const pd_train *train, pd_allocator allocator, pd_tensor *tensor) {
  (void)allocator;
  free(tensor->data);
  return kit_nothing(train);
}
static pd_status kit_randn(const pd_train *train, pd_tensor *y) {
  (void)y;
  return kit_nothing(train);
}
static pd_status kit_mean(const pd_train *train, pd_tensor *y, const pd_tensor *x) {
  (void)y;
  (void)x;
  return kit_nothing(train);
}
static pd_status kit_add(const pd_train *train, pd_tensor *y, const pd_tensor *a, const pd_tensor *b, double alpha) {
  (void)y;
  (void)a;
  (void)b;
  (void)alpha;
  return kit_nothing(train);
}
static const pd_train kit = {.size = sizeof kit,
                             .configure = kit_configure,
                             .step = kit_step,
                             .to_device = kit_to_device,
                             .zero_grad = kit_nothing,
                             .forward = kit_nothing,
                             .item = kit_item,
                             .backward = kit_nothing,
                             .optimizer_step = kit_nothing,
                             .empty_like = kit_empty_like,
                             .tensor_free = kit_tensor_free,
                             .randn = kit_randn,
                             .mean = kit_mean,
                             .add = kit_add};

struct pd_file {
  int unused;
};
static pd_status file_open(const pd_files *files, const char *path, pd_file **file) {
  static pd_file only;
  (void)files;
  (void)path;
  *file = &only;
  return PD_OK;
}
static pd_status file_write(pd_file *file, const void *data, uint64_t bytes) {
  (void)file;
  (void)data;
  bytes_written += bytes;
  return PD_OK;
}
static pd_status file_commit(pd_file *file) {
  (void)file;
  return PD_OK;
}
static void file_discard(pd_file *file) { (void)file; }
static void file_announce(const pd_files *files, const char *path) {
  (void)files;
  (void)path;
}
static const pd_files files_table = {.size = sizeof files_table,
                                     .open = file_open,
                                     .write = file_write,
                                     .commit = file_commit,
                                     .discard = file_discard,
                                     .announce = file_announce};

/* One table of one row. */
static const pd_table_set *analysis_tables(const pd_analysis *analysis, const pd_trace *trace,
                                           const pd_table_request *request) {
  static const pd_metric name = {
      .key = "name", .heading = "Name", .definition = "what it is", .source = "here", .unit = PD_UNIT_TEXT};
  static const pd_metric calls = {
      .key = "calls", .heading = "Calls", .definition = "how many", .source = "here", .unit = PD_UNIT_COUNT};
  static const pd_metric *const columns[] = {&name, &calls};
  static const pd_cell cells[] = {{.v = {.text = "aten::mm"}}, {.v = {.i = 1}}};
  static const pd_table_row row = {.cells = cells};
  static const pd_table table = {.size = sizeof table,
                                 .column_count = 2,
                                 .id = "operators",
                                 .title = "Operators",
                                 .columns = columns,
                                 .rows = {&row, 1, sizeof row}};
  static const pd_table *const tables[] = {&table};
  static const pd_table_set set = {.size = sizeof set, .count = 1, .tables = tables};
  (void)analysis;
  (void)trace;
  (void)request;
  return &set;
}
static const pd_metric *const *analysis_metrics(const pd_analysis *analysis, uint64_t *count) {
  (void)analysis;
  *count = 0;
  return NULL;
}
static const pd_analysis analysis_table = {
    .size = sizeof analysis_table, .tables = analysis_tables, .metrics = analysis_metrics};

/* A recorder that is off. */
static uint32_t record_intern(const pd_record *record, const char *text) {
  (void)record;
  (void)text;
  return 1;
}
static void record_begin(const pd_record *record, uint32_t name, pd_range_kind kind, const pd_range_info *info) {
  (void)record;
  (void)name;
  (void)kind;
  (void)info;
}
static void record_end(const pd_record *record) { (void)record; }
static uint64_t record_ticks(const pd_record *record) {
  (void)record;
  return 1;
}
static int64_t record_now(const pd_record *record) {
  (void)record;
  return 1;
}
static void record_activities(const pd_record *record, pd_clock clock, const pd_activity *rows, uint64_t count) {
  (void)record;
  (void)clock;
  (void)rows;
  (void)count;
}
static void record_memory(const pd_record *record, const pd_memory_event *event) {
  (void)record;
  (void)event;
}
static void record_counter(const pd_record *record, uint32_t name, double value) {
  (void)record;
  (void)name;
  (void)value;
}
static void record_lost(const pd_record *record, pd_loss loss, uint64_t count) {
  (void)record;
  (void)loss;
  (void)count;
}
static void record_name_thread(const pd_record *record, const char *name) {
  (void)record;
  (void)name;
}
static const uint32_t recording;
static const pd_record record_table = {.size = sizeof record_table,
                                       .enabled = &recording,
                                       .intern = record_intern,
                                       .begin = record_begin,
                                       .end = record_end,
                                       .ticks = record_ticks,
                                       .now_ns = record_now,
                                       .activities = record_activities,
                                       .memory = record_memory,
                                       .counter = record_counter,
                                       .lost = record_lost,
                                       .name_thread = record_name_thread};

static const void *host_extension(const pd_host *host, const char *id) {
  (void)host;
  if (strcmp(id, PD_EXT_TRAIN) == 0) return &kit;
  if (strcmp(id, PD_EXT_ANALYSIS) == 0) return &analysis_table;
  if (strcmp(id, PD_EXT_RECORD) == 0) return &record_table;
  return strcmp(id, PD_EXT_FILES) == 0 ? &files_table : NULL;
}
static const pd_host the_host = {.size = sizeof the_host,
                                 .abi_major = PD_ABI_MAJOR,
                                 .abi_minor = PD_ABI_MINOR,
                                 .extension = host_extension,
                                 .fail = host_fail,
                                 .log = host_log};

/* ---- lives ---- */

/* Defaults, units left out: what matters here is where the fields are. */
static void *fill_options(const pd_plugin *table) {
  char *options = calloc(1, table->options_size + 1);
  for (uint32_t i = 0; options && i < table->option_count; i++) {
    const pd_option *row = (const void *)((const char *)table->options + (size_t)i * table->option_size);
    const char *text = row->def ? row->def : row->choices ? row->choices[0] : row->min ? row->min : "1";
    void *field = options + row->offset;
    const bool truth = strcmp(text, "true") == 0;
    const int64_t whole = strtoll(text, NULL, 10);
    const double real = strtod(text, NULL);
    if (row->type == PD_BOOL)
      memcpy(field, &truth, sizeof truth);
    else if (row->type == PD_FLOAT)
      memcpy(field, &real, sizeof real);
    else if (row->type == PD_STRING || row->type == PD_CHOICE || row->type == PD_PATH)
      memcpy(field, &text, sizeof text);
    else
      memcpy(field, &whole, sizeof whole);
  }
  return options;
}

static bool live_scenario(const pd_scenario_ops *ops, const void *options) {
  static const float images[2 * 3 * 4 * 4];
  static const int64_t labels[2];
  const pd_batch batch = {
      .size = sizeof batch, .count = 2, .channels = 3, .height = 4, .width = 4, .images = images, .labels = labels};
  void *state = NULL;
  CHECK(ops->size >= sizeof *ops, "its table has %u bytes where 1.0 has %zu", ops->size, sizeof *ops);
  kit_calls = 0;
  const pd_status begun = ops->init(&the_host, options, &state);
  if (begun == PD_UNSUPPORTED && message[0]) {
    printf("%s: needs what is not here and says so: %s\n", file_name, message);
    return true;
  }
  CHECK(begun == PD_OK, "init returned %d: %s", begun, message);
  for (uint64_t i = 0; i < 3; i++) {
    const pd_step step = {.size = sizeof step, .phase = PD_PHASE_ACTIVE, .index = i, .batch = &batch};
    const pd_status status = ops->step(state, &step);
    CHECK(status == PD_OK, "step returned %d: %s", status, message);
  }
  ops->teardown(state);
  CHECK(kit_calls >= 3, "three steps called the training kit %llu times", (unsigned long long)kit_calls);
  return true;
}

/* One step with one operation, its launch and its kernel. */
static const pd_trace *make_trace(void) {
  static const pd_string strings[] = {{"", 0}, {"aten::mm", 8}, {"launch", 6}, {"kernel", 6}, {"stream 7", 8}};
  static const pd_thread threads[] = {{42, 1}};
  static const pd_stream_row streams[] = {{0, 0, 7, 4}};
  static const pd_range ranges[] = {{.start_ns = 0,
                                     .end_ns = 500,
                                     .name = 1,
                                     .kind = PD_RANGE_OP,
                                     .part = PD_PART_FORWARD,
                                     .parent = PD_NONE,
                                     .stack = PD_NONE}};
  static const pd_call calls[] = {{.start_ns = 10,
                                   .end_ns = 20,
                                   .correlation = 1,
                                   .name = 2,
                                   .kind = PD_ACTIVITY_RUNTIME,
                                   .api = PD_API_LAUNCH,
                                   .activity_count = 1}};
  static const pd_device_row activities[] = {{.start_ns = 30,
                                              .end_ns = 400,
                                              .name = 3,
                                              .detail = {.kind = PD_ACTIVITY_KERNEL, .correlation = 1, .stream = 7}}};
  static const uint32_t by_call[] = {0};
  static const pd_trace_step steps[] = {{.end_ns = 1000,
                                         .train_end_ns = 900,
                                         .step_time_ns = 900,
                                         .launches = 1,
                                         .matched = 1,
                                         .device_rows = 1,
                                         .loss = 6.9}};
#define ROWS(rows)                                                                                                     \
  { (rows), sizeof(rows) / sizeof((rows)[0]), sizeof((rows)[0]) }
  static const pd_device_props props = {.size = sizeof props, .name = "old", .versions = "none"};
  static const pd_trace trace = {.size = sizeof trace,
                                 .base_ns = INT64_C(1700000000000000000),
                                 .end_ns = 1000,
                                 .pid = 42,
                                 .strings = ROWS(strings),
                                 .threads = ROWS(threads),
                                 .streams = ROWS(streams),
                                 .ranges = ROWS(ranges),
                                 .calls = ROWS(calls),
                                 .activities = ROWS(activities),
                                 .activities_by_call = ROWS(by_call),
                                 .steps = ROWS(steps),
                                 .profile = PD_PROFILE_FULL,
                                 .sync_timing = 1,
                                 .device = &props};
  return &trace;
}

static bool live_sink(const pd_sink_ops *ops, const void *options) {
  const pd_trace *trace = make_trace();
  const pd_run run = {.size = sizeof run,
                      .pid = 42,
                      .start_realtime_ns = INT64_C(1700000000000000000),
                      .scenario = "old",
                      .scenario_version = "1.0",
                      .bottleneck = "none",
                      .device_name = "old",
                      .pdhost_version = "1.0.0",
                      .command_line = "pdhost",
                      .trace_dir = ".",
                      .worker = "host_42",
                      .host_name = "host",
                      .device = trace->device,
                      .batch_size = 2,
                      .total_steps = 1,
                      .active = 1,
                      .repeat = 1};
  const pd_step_stats stats = {
      .size = sizeof stats, .phase = PD_PHASE_ACTIVE, .step_time_ns = 900, .batch_cost_ns = 1000, .loss = 6.9};
  const double losses[] = {6.9};
  const pd_summary summary = {.size = sizeof summary,
                              .steps = 1,
                              .windows = 1,
                              .losses = ROWS(losses),
                              .steps_all = {&stats, 1, sizeof stats},
                              .coverage = 1,
                              .profile = PD_PROFILE_FULL,
                              .sync_note = "none"};
  void *state = NULL;
  CHECK(ops->size >= sizeof *ops, "its table has %u bytes where 1.0 has %zu", ops->size, sizeof *ops);
  pd_status status = ops->open(&the_host, options, &run, &state);
  CHECK(status == PD_OK, "open returned %d: %s", status, message);
  if (ops->on_step) status = ops->on_step(state, &stats);
  CHECK(status == PD_OK, "on_step returned %d: %s", status, message);
  if (ops->on_trace_ready) status = ops->on_trace_ready(state, trace);
  CHECK(status == PD_OK, "on_trace_ready returned %d: %s", status, message);
  status = ops->close(state, &summary);
  CHECK(status == PD_OK, "close returned %d: %s", status, message);
  return true;
}

static bool live_device(const pd_device_ops *ops, const void *options) {
  pd_device *device = NULL;
  pd_stream *stream = NULL;
  void *data = NULL;
  pd_device_props props = {.size = sizeof props};
  CHECK(ops->size >= sizeof *ops && ops->tensor->size >= sizeof *ops->tensor, "its tables are shorter than 1.0's");
  const pd_status opened = ops->open(&the_host, options, 0, &device);
  if (opened == PD_UNSUPPORTED && message[0]) {
    printf("%s: not here: %s\n", file_name, message);
    return true;
  }
  CHECK(opened == PD_OK, "open returned %d: %s", opened, message);
  CHECK(ops->props(device, &props) == PD_OK && props.name, "props fails");
  CHECK(ops->stream->create(device, &stream) == PD_OK, "no stream");
  CHECK(ops->memory->alloc(device, stream, PD_ALLOCATOR_POOL, 64, &data) == PD_OK, "no memory: %s", message);
  const pd_tensor x = {.data = data, .shape = {16}, .rank = 1, .dtype = PD_F32};
  float back = 0;
  CHECK(ops->tensor->fill(device, stream, &x, 1.5) == PD_OK, "fill fails: %s", message);
  CHECK(ops->memory->copy(device, stream, &back, data, sizeof back, PD_COPY_DEVICE_TO_HOST) == PD_OK, "copy fails");
  CHECK(ops->stream->synchronize(device, stream) == PD_OK, "synchronize fails: %s", message);
  CHECK(back > 1.4F && back < 1.6F, "fill of 1.5 reads back as %g", (double)back);
  CHECK(ops->memory->free(device, stream, PD_ALLOCATOR_POOL, 64, data) == PD_OK, "free fails");
  ops->stream->destroy(device, stream);
  ops->close(device);
  return true;
}

static bool live(const char *path) {
  file_name = path;
  message[0] = '\0';
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  CHECK(library, "%s", dlerror());
  const pd_plugin *(*entry)(void);
  *(void **)&entry = dlsym(library, "pd_plugin_entry");
  CHECK(entry, "no pd_plugin_entry");
  const pd_plugin *table = entry();
  CHECK(table && table->size >= sizeof *table && table->abi_major == PD_ABI_MAJOR, "its descriptor is not of 1.x");
  CHECK(!table->option_count || table->option_size >= sizeof(pd_option), "its option rows are shorter than 1.0's");
  void *options = fill_options(table);
  CHECK(options, "out of memory");
  const bool well = table->kind == PD_KIND_SCENARIO ? live_scenario(table->ops.scenario, options)
                    : table->kind == PD_KIND_SINK   ? live_sink(table->ops.sink, options)
                                                    : live_device(table->ops.device, options);
  free(options);
  return well;
}

int main(int argc, char **argv) {
  bool well = argc > 1;
  for (int i = 1; i < argc; i++) well = live(argv[i]) && well;
  printf("%d plugins in a host of ABI 1.0: %s\n", argc - 1, well ? "all well" : "FAILED");
  return well ? 0 : 1;
}
