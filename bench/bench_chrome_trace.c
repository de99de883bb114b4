/*
 * What writing a Chrome trace costs: events formatted per second on one thread into nothing; compressed with all cores,
 * beside the library alone on the same text; bytes per event and per launch (operation, call, kernel and both ends of
 * the flow), with and without the counter tracks that Kineto does not have; and the memory it takes. Medians of the
 * rounds, with the fastest and the slowest.
 *
 * bench_chrome_trace [LAUNCHES [PLUGIN]]: the built sink, driven as the host drives it.
 */
#include "deflate_share.h"
#include "stderr_host.h"

#include <pdhost/clocks.h>
#include <pdhost/processors.h>
#include <pdhost/sink.h>

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 9, NAMES = 64, STEP_LAUNCHES = 200, OP_NS = 12000, KEPT_BYTES = 256 << 20, MOST_THREADS = 64 };

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

/* ---- a host that throws the bytes away, counts their lines or keeps them ---- */

struct pd_file {
  uint64_t bytes, lines, peak_heap;
  char *kept; /* of KEPT_BYTES, or NULL */
};
static struct pd_file only_file;

static uint64_t heap_bytes(void) {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}
static pd_status file_open(const pd_files *files, const char *path, pd_file **out) {
  (void)files;
  (void)path;
  only_file = (struct pd_file){.kept = only_file.kept};
  *out = &only_file;
  return PD_OK;
}
static pd_status file_write(pd_file *file, const void *data, uint64_t bytes) {
  (void)data;
  file->bytes += bytes;
  if (heap_bytes() > file->peak_heap) file->peak_heap = heap_bytes();
  return PD_OK;
}
static pd_status file_write_keeping(pd_file *file, const void *data, uint64_t bytes) {
  if (file->bytes + bytes <= KEPT_BYTES) memcpy(file->kept + file->bytes, data, bytes);
  file->bytes += bytes;
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
/* ---- rounds ---- */

static double now_s(void) { return 1e-9 * (double)pd_monotonic_ns(); }
static double processor_s(void) { return 1e-9 * (double)pd_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

/* Options of the plugin at their defaults but those given. */
typedef struct chosen {
  bool gzip;
  const char *counters;
} chosen;

static void fill_options(const pd_plugin *plugin, const chosen *wanted, void *options) {
  for (uint32_t i = 0; i < plugin->option_count; i++) {
    const pd_option *option = &plugin->options[i];
    char *field = (char *)options + option->offset;
    if (option->type == PD_BOOL)
      *(bool *)field = strcmp(option->key, "gzip") == 0 ? wanted->gzip : strcmp(option->def, "true") == 0;
    else if (option->type == PD_CHOICE || option->type == PD_PATH || option->type == PD_STRING)
      *(const char **)(void *)field = strcmp(option->key, "counters") == 0 ? wanted->counters : option->def;
    else
      *(int64_t *)(void *)field = strtoll(option->def, NULL, 10);
  }
}

/* Seconds of a round, over all rounds; `processor` is the median of the processor time that all threads took
 * together. */
typedef struct times {
  double median, least, most, processor;
} times;

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static times times_of(double *spent, double *processor) {
  qsort(spent, ROUNDS, sizeof *spent, by_value);
  qsort(processor, ROUNDS, sizeof *processor, by_value);
  return (times){spent[ROUNDS / 2], spent[0], spent[ROUNDS - 1], processor[ROUNDS / 2]};
}

/* False on failure. */
static bool write_rounds(const pd_plugin *plugin, const pd_trace *trace, const chosen *wanted, times *out) {
  const pd_host host = {.size = sizeof host,
                        .abi_major = PD_ABI_MAJOR,
                        .abi_minor = PD_ABI_MINOR,
                        .extension = extension,
                        .fail = stderr_host_fail,
                        .log = stderr_host_log};
  const pd_run run = {.size = sizeof run, .scenario = "bench", .trace_dir = ".", .worker = "bench", .repeat = 1};
  double spent[ROUNDS], processor[ROUNDS];
  void *options = calloc(1, plugin->options_size), *state = NULL;
  bool good = options != NULL;
  if (good) fill_options(plugin, wanted, options);
  if (!good || plugin->ops.sink->open(&host, options, &run, &state) != PD_OK) {
    free(options);
    return false;
  }
  for (int round = 0; round < ROUNDS && good; round++) {
    const double start = now_s(), start_processor = processor_s();
    good = plugin->ops.sink->on_trace_ready(state, trace) == PD_OK;
    spent[round] = now_s() - start;
    processor[round] = processor_s() - start_processor;
  }
  plugin->ops.sink->close(state, NULL);
  free(options);
  if (good) *out = times_of(spent, processor);
  return good;
}

/* ---- the library alone: the same pieces and level, on threads that do nothing else ---- */

static times library_rounds(char *text, uint64_t bytes, int threads) {
  double spent[ROUNDS], processor[ROUNDS];
  for (int round = 0; round < ROUNDS; round++) {
    deflate_share_of shares[MOST_THREADS] = {0};
    const double start = now_s(), start_processor = processor_s();
    for (int i = 0; i < threads; i++) {
      const uint64_t from = bytes / (uint64_t)threads * (uint64_t)i;
      shares[i].text = (uint8_t *)text + from;
      shares[i].bytes = i + 1 < threads ? bytes / (uint64_t)threads : bytes - from;
      if (pthread_create(&shares[i].thread, NULL, deflate_share, &shares[i]) != 0) threads = i;
    }
    for (int i = 0; i < threads; i++) pthread_join(shares[i].thread, NULL);
    spent[round] = now_s() - start;
    processor[round] = processor_s() - start_processor;
  }
  return times_of(spent, processor);
}

/* By the clock, and by processor time, which other work on the machine touches less. */
static void print_rate(const char *what, double amount, const char *unit, times spent) {
  printf("  %-34s %8.2f %s (%.2f to %.2f); %.2f per processor second\n", what, amount / spent.median, unit,
         amount / spent.most, amount / spent.least, amount / spent.processor);
}

/* Size and count of lines under `wanted`; each event is one line. */
static bool measure_size(const pd_plugin *plugin, const fixture *bench, const chosen *wanted, const char *what,
                         double *events, double *bytes) {
  times ignored;
  files.write = file_write_counting;
  if (!write_rounds(plugin, &bench->trace, wanted, &ignored)) return false;
  *events = (double)only_file.lines;
  *bytes = (double)only_file.bytes;
  printf("  %-34s %8.0f events, %.1f bytes/event, %.0f bytes/launch\n", what, *events, *bytes / *events,
         *bytes / (double)bench->launches);
  files.write = file_write;
  return true;
}

static int run_bench(const pd_plugin *plugin, const fixture *bench) {
  const chosen all = {false, "all"}, none = {false, "none"}, packed = {true, "all"};
  const uint64_t heap_before = heap_bytes();
  double events, bytes, kineto_events, kineto_bytes;
  times plain, gzip;
  printf("chrome_trace, %llu launches; median of %d rounds (slowest to fastest)\n", (unsigned long long)bench->launches,
         ROUNDS);
  if (!measure_size(plugin, bench, &all, "all counters", &events, &bytes)) return 1;
  if (!measure_size(plugin, bench, &none, "no counters, as Kineto", &kineto_events, &kineto_bytes)) return 1;
  if (!write_rounds(plugin, &bench->trace, &all, &plain)) return 1;
  const uint64_t plain_peak = only_file.peak_heap - heap_before;
  print_rate("one thread", events / 1e6, "million events/s", plain);
  print_rate("one thread", bytes / 1e9, "GB/s", plain);
  if (!write_rounds(plugin, &bench->trace, &packed, &gzip)) return 1;
  const double ratio = bytes / (double)only_file.bytes;
  const uint64_t gzip_peak = only_file.peak_heap - heap_before;
  print_rate("gzip, all cores", events / 1e6, "million events/s", gzip);
  print_rate("gzip, all cores", bytes / 1e6, "MB/s of text", gzip);
  printf("  ratio %.1f; heap at most %.1f MB plain, %.1f MB gzip (%.1f bytes/event)\n", ratio, (double)plain_peak / 1e6,
         (double)gzip_peak / 1e6, (double)plain_peak / events);
  if (bytes > KEPT_BYTES) return 0;
  only_file.kept = malloc(KEPT_BYTES);
  files.write = file_write_keeping;
  times ignored;
  if (!only_file.kept || !write_rounds(plugin, &bench->trace, &all, &ignored)) return 1;
  const uint32_t cores = pd_processors_allowed();
  const int threads = cores > MOST_THREADS ? MOST_THREADS : (int)cores;
  const times one = library_rounds(only_file.kept, only_file.bytes, 1);
  const times many = library_rounds(only_file.kept, only_file.bytes, threads);
  print_rate("ISA-L alone, one thread", bytes / 1e6, "MB/s of text", one);
  print_rate("ISA-L alone, all cores", bytes / 1e6, "MB/s of text", many);
  printf("  gzip takes %.2f of the processor time of formatting and of ISA-L alone together\n",
         gzip.processor / (plain.processor + many.processor));
  free(only_file.kept);
  return 0;
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
  if (fixture_open(&bench, wanted)) result = run_bench(entry(), &bench);
  fixture_close(&bench);
  dlclose(library);
  return result;
}
