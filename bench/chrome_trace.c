/*
 * What writing a Chrome trace costs: events formatted per second on one thread into nothing, compressed with all cores,
 * bytes per event and per launch (operation, call, kernel and both ends of the flow), and the memory it takes.
 *
 * bench_chrome_trace [LAUNCHES [PLUGIN]]: the built sink, driven as the host drives it.
 */
#include <pdhost/sink.h>

#include <dlfcn.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ROUNDS = 5, NAMES = 64, STEP_LAUNCHES = 200, OP_NS = 12000 };

/* ---- a trace of one thread and one stream ---- */

typedef struct fixture {
  pd_trace trace;
  pd_string strings[NAMES + 4];
  char texts[NAMES][160];
  pd_thread thread;
  pd_stream_row stream;
  pd_shape shapes[2];
  pd_range *ranges;
  pd_call *calls;
  pd_device_row *rows;
  uint32_t *by_call;
  pd_trace_step *steps;
  uint64_t launches;
} fixture;

static void name_strings(fixture *self) {
  self->strings[0] = (pd_string){"", 0};
  self->strings[1] = (pd_string){"aten::conv2d", 12};
  self->strings[2] = (pd_string){"cudaLaunchKernel", 16};
  self->strings[3] = (pd_string){"pdhost", 6};
  for (int i = 0; i < NAMES; i++) { /* as long as kernels' names are, with characters to escape */
    snprintf(self->texts[i], sizeof self->texts[i],
             "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_%dx%d_32x3_nn_align4>(cutlass::Params, \"float\")", i,
             2 * i);
    self->strings[4 + i] = (pd_string){self->texts[i], strlen(self->texts[i])};
  }
}

static void fill(fixture *self) {
  for (uint64_t i = 0; i < self->launches; i++) {
    const int64_t t = 1000 + (int64_t)i * OP_NS;
    const uint32_t step = (uint32_t)(i / STEP_LAUNCHES);
    self->ranges[i] = (pd_range){.start_ns = t,
                                 .end_ns = t + 9000,
                                 .name = 1,
                                 .kind = PD_RANGE_OP,
                                 .parent = PD_NONE,
                                 .step = step,
                                 .shape_count = 2,
                                 .stack = PD_NONE};
    self->calls[i] = (pd_call){.start_ns = t + 1000,
                               .end_ns = t + 6000,
                               .correlation = i + 1,
                               .name = 2,
                               .range = (uint32_t)i,
                               .step = step,
                               .kind = PD_ACTIVITY_RUNTIME,
                               .api = PD_API_LAUNCH,
                               .cbid = 211,
                               .activity_first = (uint32_t)i,
                               .activity_count = 1};
    pd_device_row *row = &self->rows[i];
    *row = (pd_device_row){.start_ns = t + 8000,
                           .end_ns = t + 8000 + 2500 + (int64_t)(i % 997),
                           .name = 4 + (uint32_t)(i * 7 % NAMES),
                           .call = (uint32_t)i,
                           .range = (uint32_t)i,
                           .step = step};
    row->detail = (pd_activity){.kind = PD_ACTIVITY_KERNEL,
                                .name = row->name,
                                .start = row->start_ns,
                                .end = row->end_ns,
                                .correlation = i + 1,
                                .context = 1,
                                .stream = 7};
    row->detail.u.kernel.grid[0] = 1 + (uint32_t)(i % 5000);
    row->detail.u.kernel.grid[1] = row->detail.u.kernel.grid[2] = 1;
    row->detail.u.kernel.block[0] = 128;
    row->detail.u.kernel.block[1] = row->detail.u.kernel.block[2] = 1;
    row->detail.u.kernel.registers = 96;
    row->detail.u.kernel.dynamic_bytes = 49152;
    row->detail.u.kernel.blocks_per_sm = (float)row->detail.u.kernel.grid[0] / 132.0f;
    row->detail.u.kernel.warps_per_sm = 4 * row->detail.u.kernel.blocks_per_sm;
    row->detail.u.kernel.occupancy = 0.25f;
    self->by_call[i] = (uint32_t)i;
  }
}

static pd_array array_of(const void *data, uint64_t count, uint64_t stride) { return (pd_array){data, count, stride}; }

static bool fixture_open(fixture *self, uint64_t launches) {
  const uint64_t steps = launches / STEP_LAUNCHES;
  static const pd_device_props device = {.size = sizeof device, .name = "bench", .is_cuda = 1, .sm_count = 132};
  memset(self, 0, sizeof *self);
  self->launches = steps * STEP_LAUNCHES;
  self->ranges = malloc(self->launches * sizeof *self->ranges);
  self->calls = malloc(self->launches * sizeof *self->calls);
  self->rows = malloc(self->launches * sizeof *self->rows);
  self->by_call = malloc(self->launches * sizeof *self->by_call);
  self->steps = calloc(steps, sizeof *self->steps);
  if (!self->ranges || !self->calls || !self->rows || !self->by_call || !self->steps) return false;
  self->thread = (pd_thread){4242, 3};
  self->stream = (pd_stream_row){0, 1, 7, 0};
  for (int i = 0; i < 2; i++) self->shapes[i] = (pd_shape){4, PD_F32, {64, 128, 56, 56}};
  name_strings(self);
  fill(self);
  for (uint64_t i = 0; i < steps; i++) {
    self->steps[i].start_ns = 1000 + (int64_t)(i * STEP_LAUNCHES) * OP_NS;
    self->steps[i].end_ns = self->steps[i].start_ns + (int64_t)STEP_LAUNCHES * OP_NS;
    self->steps[i].number = i;
  }
  pd_trace *trace = &self->trace;
  trace->size = sizeof *trace;
  trace->start_ns = 1000;
  trace->end_ns = self->steps[steps - 1].end_ns;
  trace->pid = 4242;
  trace->profile = PD_PROFILE_FULL;
  trace->device = &device;
  trace->strings = array_of(self->strings, NAMES + 4, sizeof *self->strings);
  trace->threads = array_of(&self->thread, 1, sizeof self->thread);
  trace->streams = array_of(&self->stream, 1, sizeof self->stream);
  trace->ranges = array_of(self->ranges, self->launches, sizeof *self->ranges);
  trace->calls = array_of(self->calls, self->launches, sizeof *self->calls);
  trace->activities = array_of(self->rows, self->launches, sizeof *self->rows);
  trace->activities_by_call = array_of(self->by_call, self->launches, sizeof *self->by_call);
  trace->steps = array_of(self->steps, steps, sizeof *self->steps);
  trace->shapes = array_of(self->shapes, 2, sizeof *self->shapes);
  return true;
}

static void fixture_close(fixture *self) {
  free(self->ranges);
  free(self->calls);
  free(self->rows);
  free(self->by_call);
  free(self->steps);
}

/* ---- a host that throws the bytes away ---- */

struct pd_file {
  uint64_t bytes, lines, peak_heap;
};
static struct pd_file only_file;

static uint64_t heap_bytes(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}
static pd_status file_open(const pd_files *files, const char *path, pd_file **out) {
  (void)files;
  (void)path;
  memset(&only_file, 0, sizeof only_file);
  *out = &only_file;
  return PD_OK;
}
static pd_status file_write(pd_file *file, const void *data, uint64_t bytes) {
  (void)data;
  file->bytes += bytes;
  if (heap_bytes() > file->peak_heap) file->peak_heap = heap_bytes();
  return PD_OK;
}
static pd_status file_write_counting(pd_file *file, const void *data, uint64_t bytes) {
  for (const char *at = data, *end = at + bytes; (at = memchr(at, '\n', (size_t)(end - at))); at++) file->lines++;
  return file_write(file, data, bytes);
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

static pd_files files = {.size = sizeof files,
                         .open = file_open,
                         .write = file_write,
                         .commit = file_commit,
                         .discard = file_discard,
                         .announce = file_announce};

static const void *extension(const pd_host *host, const char *id) {
  (void)host;
  return strcmp(id, PD_EXT_FILES) == 0 ? &files : NULL;
}
PD_PRINTF(3, 4) static pd_status fail(const pd_host *host, pd_status code, const char *format, ...) {
  va_list args;
  (void)host;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  return code;
}

/* ---- rounds ---- */

static double now_s(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Options of the plugin at their defaults but gzip; defaults of its rows are flags, choices and byte counts. */
static void fill_options(const pd_plugin *plugin, bool gzip, void *options) {
  for (uint32_t i = 0; i < plugin->option_count; i++) {
    const pd_option *option = &plugin->options[i];
    char *field = (char *)options + option->offset;
    if (option->type == PD_BOOL)
      *(bool *)field = strcmp(option->key, "gzip") == 0 ? gzip : strcmp(option->def, "true") == 0;
    else if (option->type == PD_CHOICE)
      *(const char **)(void *)field = option->def;
    else
      *(int64_t *)(void *)field = strtoll(option->def, NULL, 10);
  }
}

/* Seconds of the fastest round, 0 on failure. */
static double write_once(const pd_plugin *plugin, const pd_trace *trace, bool gzip) {
  const pd_host host = {
      .size = sizeof host, .abi_major = PD_ABI_MAJOR, .abi_minor = PD_ABI_MINOR, .extension = extension, .fail = fail};
  const pd_run run = {.size = sizeof run, .scenario = "bench", .trace_dir = ".", .worker = "bench", .repeat = 1};
  double best = 0;
  void *options = calloc(1, plugin->options_size), *state = NULL;
  if (!options) return 0;
  fill_options(plugin, gzip, options);
  if (plugin->ops.sink->open(&host, options, &run, &state) != PD_OK) {
    free(options);
    return 0;
  }
  for (int round = 0; round < ROUNDS; round++) {
    const double start = now_s();
    if (plugin->ops.sink->on_trace_ready(state, trace) != PD_OK) {
      best = 0;
      break;
    }
    const double spent = now_s() - start;
    if (round == 0 || spent < best) best = spent;
  }
  plugin->ops.sink->close(state, NULL);
  free(options);
  return best;
}

int main(int argc, char **argv) {
  const pd_plugin *(*entry)(void) = NULL;
  fixture bench;
  int result = 1;
  const uint64_t wanted = argc > 1 ? strtoull(argv[1], NULL, 10) : 150000;
  if (wanted < STEP_LAUNCHES) {
    fprintf(stderr, "usage: bench_chrome_trace [LAUNCHES [PLUGIN]]; at least %d launches\n", STEP_LAUNCHES);
    return 2;
  }
  void *library = dlopen(argc > 2 ? argv[2] : SINK_PATH, RTLD_NOW | RTLD_LOCAL);
  if (library) *(void **)&entry = dlsym(library, "pd_plugin_entry");
  if (!entry) {
    fprintf(stderr, "bench_chrome_trace: %s\n", dlerror());
    if (library) dlclose(library);
    return 1;
  }
  if (!fixture_open(&bench, wanted)) goto out;
  const uint64_t heap_before = heap_bytes();
  files.write = file_write_counting;
  if (write_once(entry(), &bench.trace, false) <= 0) goto out;
  const double events = (double)only_file.lines, launches = (double)bench.launches;
  files.write = file_write;
  const double plain_s = write_once(entry(), &bench.trace, false);
  const double plain_bytes = (double)only_file.bytes;
  const uint64_t plain_peak = only_file.peak_heap - heap_before;
  const double gzip_s = write_once(entry(), &bench.trace, true);
  const double gzip_bytes = (double)only_file.bytes;
  const uint64_t gzip_peak = only_file.peak_heap - heap_before;
  if (plain_s <= 0 || gzip_s <= 0) goto out;
  printf("chrome_trace, %.0f launches, %.0f events, fastest of %d rounds\n", launches, events, ROUNDS);
  printf("  one thread: %.1f ns/event, %.2f million events/s, %.2f GB/s\n", plain_s / events * 1e9,
         events / plain_s / 1e6, plain_bytes / plain_s / 1e9);
  printf("  %.0f bytes/event, %.0f bytes/launch; heap at most %.1f MB, %.1f bytes/event\n", plain_bytes / events,
         plain_bytes / launches, (double)plain_peak / 1e6, (double)plain_peak / events);
  printf("  gzip on all cores: %.2f million events/s, %.0f MB/s of text, ratio %.1f; heap at most %.1f MB\n",
         events / gzip_s / 1e6, plain_bytes / gzip_s / 1e6, plain_bytes / gzip_bytes, (double)gzip_peak / 1e6);
  result = 0;
out:
  fixture_close(&bench);
  dlclose(library);
  return result;
}
