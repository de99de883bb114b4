/*
 * Reading a trace of torch.profiler, part by part: scanning (events handed to a table that keeps nothing), reading into
 * rows, sorting them into a window, all tables of it. Bytes a second, nanoseconds and bytes an event, and the most
 * memory that the process held after each part.
 *
 *   bench_kineto write FILE MB       a made-up trace of that size, as Kineto formats it, compressed where FILE ends in
 * .gz bench_kineto read FILE [ROUNDS]  the parts, each the median of the rounds; one line of JSON behind them
 *   bench_kineto                     both, with a small file
 */
#include "tables/window_tables.h"
#include "trace/intake/intake.h"
#include "trace/recorder.h"
#include "trace/trace_memory.h"

#include <pdhost/clocks.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

enum { STEP_LAUNCHES = 400, STEP_US = 8000, MOST_ROUNDS = 99, DEFAULT_MB = 4 };

/* ---- a trace ---- */

typedef struct writer {
  FILE *plain;
  gzFile packed;
  uint64_t bytes, number; /* number: of the next launch */
} writer;

PD_PRINTF(2, 3) static void put(writer *self, const char *format, ...) {
  char text[2048];
  va_list args;
  va_start(args, format);
  const int bytes = vsnprintf(text, sizeof text, format, args);
  va_end(args);
  self->bytes += (uint64_t)bytes;
  if (self->packed)
    (void)gzwrite(self->packed, text, (unsigned)bytes);
  else
    (void)fwrite(text, 1, (size_t)bytes, self->plain);
}

/* One launch with the operations around it: shares of the kinds of events as in a trace of a ResNet-18. */
static void put_launch(writer *self, uint64_t ns) {
  static const char *const operations[] = {"aten::convolution", "aten::_convolution", "aten::cudnn_convolution",
                                           "aten::add_"};
  static const char *const kernels[] = {
      "void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float, false, true, (cudnnKernelDataType_t)2>("
      "cudnn::engines_precompiled::nchw2nhwc_params_t<float>, float const*, float*)",
      "sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16_stage4_warpsize2x2x1",
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >("
      "int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)"};
  const uint64_t us = ns / 1000, n = self->number++;
#define TIME(more) (us + (more)), (ns % 1000)
  for (unsigned i = 0; i < 3; i++)
    put(self,
        "  {\n    \"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"%s\", \"pid\": 418, \"tid\": 418,\n    \"ts\": "
        "%" PRIu64 ".%03" PRIu64 ", \"dur\": %u.750,\n    \"args\": {\n      \"External id\": %" PRIu64
        ",\"Record function id\": 0, \"Sequence number\": %" PRIu64 ", \"Fwd thread id\": 0, \"Ev Idx\": %" PRIu64
        "\n    }\n  },\n",
        operations[(n + i) % 4], TIME(i), 15 - 2 * i, 3 * n + i, n, 3 * n + i);
  for (unsigned i = 0; i < 2; i++)
    put(self,
        "  {\n    \"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"%s\", \"pid\": 418, \"tid\": 418,\n    \"ts\": "
        "%" PRIu64 ".%03" PRIu64 ", \"dur\": %u.973,\n    \"args\": {\n      \"External id\": %" PRIu64
        ",      \"cbid\": %d, \"correlation\": %" PRIu64 "\n    }\n  },\n",
        i ? "cudaLaunchKernel" : "cudaGetLastError", TIME(4 + i), 3 * i, 3 * n, i ? 211 : 10, 2 * n + i);
  put(self,
      "  {\n    \"ph\": \"s\", \"id\": %" PRIu64 ", \"pid\": 418, \"tid\": 418, \"ts\": %" PRIu64 ".%03" PRIu64
      ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  },\n",
      2 * n + 1, TIME(5));
  put(self,
      "  {\n    \"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"%s\", \"pid\": 0, \"tid\": 7,\n    \"ts\": %" PRIu64
      ".%03" PRIu64 ", \"dur\": 12.319,\n    \"args\": {\n      \"External id\": %" PRIu64
      ",      \"queued\": 0, \"device\": 0, \"context\": 1,      \"stream\": 7, \"correlation\": %" PRIu64
      ",      \"registers per thread\": 32,      \"shared memory\": 4224,      \"blocks per SM\": 124.121216,      "
      "\"warps per SM\": 992.969727,      \"grid\": [512, 1, %" PRIu64
      "],      \"block\": [256, 1, 1],      \"est. achieved occupancy %%\": 100\n    }\n  },\n",
      kernels[n % 3], TIME(14), 3 * n, 2 * n + 1, 1 + n % 32);
  put(self,
      "  {\n    \"ph\": \"f\", \"id\": %" PRIu64 ", \"pid\": 0, \"tid\": 7, \"ts\": %" PRIu64 ".%03" PRIu64
      ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  },\n",
      2 * n + 1, TIME(14));
#undef TIME
}

static bool write_trace(const char *path, uint64_t bytes) {
  const size_t length = strlen(path);
  const bool packs = length > 3 && strcmp(path + length - 3, ".gz") == 0;
  writer self = {.plain = packs ? NULL : fopen(path, "we"), .packed = packs ? gzopen(path, "wbe6") : NULL, .number = 1};
  if (!self.plain && !self.packed) return false;
  put(&self, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n    {\n      \"id\": 0, \"name\": \"Made GPU\", "
             "\"totalGlobalMem\": 150000000000,\n      \"computeMajor\": 9, \"computeMinor\": 0,\n      \"numSms\": 132"
             "\n    }\n  ],\n  \"baseTimeNanoseconds\": 1700000000000000000,\n  \"traceEvents\": [\n");
  uint64_t start = UINT64_C(4504122421045324);
  for (unsigned step = 0; self.bytes < bytes; step++, start += UINT64_C(1000) * STEP_US) {
    put(&self,
        "  {\n    \"ph\": \"X\", \"cat\": \"user_annotation\", \"name\": \"ProfilerStep#%u\", \"pid\": 418, \"tid\": "
        "418,\n    \"ts\": %" PRIu64 ".%03" PRIu64 ", \"dur\": %d.000\n  },\n",
        step, start / 1000, start % 1000, STEP_US);
    for (uint64_t i = 0; i < STEP_LAUNCHES; i++)
      put_launch(&self, start + 1000 + i * (STEP_US - 50) * 1000 / STEP_LAUNCHES);
  }
  put(&self, "  {\n    \"name\": \"process_name\", \"ph\": \"M\", \"ts\": 0, \"pid\": 418, \"tid\": 0,\n    \"args\": "
             "{\n      \"name\": \"python\"\n    }\n  }\n  ],\n  \"traceName\": \"made.json\"\n}\n");
  return packs ? gzclose(self.packed) == Z_OK : fclose(self.plain) == 0;
}

/* ---- a table that keeps nothing ---- */

static uint32_t no_intern(const pd_intake *table, const char *text, uint64_t length) {
  (void)table;
  (void)text;
  return (uint32_t)length;
}
static uint32_t no_thread(const pd_intake *table, uint32_t pid, uint32_t tid) {
  (void)table;
  (void)pid;
  (void)tid;
  return 0;
}
static void no_name(const pd_intake *table, uint32_t thread, uint32_t name) {
  (void)table;
  (void)thread;
  (void)name;
}
static uint64_t events; /* that any table got */
static void no_range(const pd_intake *table, const pd_read_range *row) {
  (void)table;
  (void)row;
  events++;
}
static void no_activity(const pd_intake *table, const pd_activity *row) {
  (void)table;
  (void)row;
  events++;
}
static void no_wait(const pd_intake *table, const pd_activity *row, uint64_t awaited) {
  (void)awaited;
  no_activity(table, row);
}
static void no_memory(const pd_intake *table, uint32_t thread, int64_t ts_ns, const pd_memory_event *row) {
  (void)table;
  (void)thread;
  (void)ts_ns;
  (void)row;
}
static void no_step(const pd_intake *table, uint32_t thread, uint64_t number, int64_t start_ns, int64_t end_ns) {
  (void)table;
  (void)thread;
  (void)number;
  (void)start_ns;
  (void)end_ns;
}
static void no_source(const pd_intake *table, const pd_source *source) {
  (void)table;
  (void)source;
}
static void no_loss(const pd_intake *table, pd_loss loss, uint64_t count) {
  (void)table;
  (void)loss;
  (void)count;
}
PD_PRINTF(4, 5) static void no_odd(const pd_intake *table, pd_odd how, uint64_t count, const char *format, ...) {
  (void)table;
  (void)how;
  (void)count;
  (void)format;
}
static void no_place(const pd_intake *table, uint64_t byte) {
  (void)table;
  (void)byte;
}
static void no_progress(const pd_intake *table, uint64_t bytes, uint64_t of) {
  (void)table;
  (void)bytes;
  (void)of;
}

static const pd_intake nothing = {.size = sizeof nothing,
                                  .intern = no_intern,
                                  .thread = no_thread,
                                  .name_thread = no_name,
                                  .range = no_range,
                                  .activity = no_activity,
                                  .wait = no_wait,
                                  .memory = no_memory,
                                  .step = no_step,
                                  .source = no_source,
                                  .lost = no_loss,
                                  .odd = no_odd,
                                  .place = no_place,
                                  .progress = no_progress};

/* ---- the parts ---- */

PD_PRINTF(3, 4) static pd_status fail(const pd_host *host, pd_status code, const char *format, ...) {
  va_list args;
  (void)host;
  va_start(args, format);
  (void)vfprintf(stderr, format, args);
  va_end(args);
  (void)fputc('\n', stderr);
  return code;
}

static const pd_host host = {.size = sizeof host, .abi_major = PD_ABI_MAJOR, .abi_minor = PD_ABI_MINOR, .fail = fail};
static const pd_reader_ops *reader;

/* Processor time: what else runs on the machine does not count. */
static double now_s(void) { return 1e-9 * (double)pd_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

/* Bytes, since the program began: what getrusage() says is also of the process that forked it. */
static double most_held(void) {
  char line[128];
  double held = 0;
  FILE *lines = fopen("/proc/self/status", "re");
  while (lines && fgets(line, sizeof line, lines))
    if (strncmp(line, "VmHWM:", 6) == 0) held = 1024 * strtod(line + 6, NULL);
  if (lines) (void)fclose(lines);
  return held;
}

/* Bytes of the JSON, packed or not: the end of a gzip file of one member says how many. */
static double json_bytes(const char *path) {
  unsigned char first[2] = {0}, last[4] = {0};
  double bytes = 0;
  FILE *file = fopen(path, "re");
  if (!file) return 0;
  const bool read = fread(first, 1, 2, file) == 2 && fseek(file, -4, SEEK_END) == 0 && fread(last, 1, 4, file) == 4;
  if (read && first[0] == 0x1f && first[1] == 0x8b)
    bytes = last[0] + 256.0 * last[1] + 65536.0 * last[2] + 16777216.0 * last[3];
  else if (read)
    bytes = (double)ftell(file);
  (void)fclose(file);
  return bytes;
}

static bool read_into(const char *path, const pd_intake *table) {
  const char *const options[] = {"lines"}; /* reader.kineto.python */
  void *state = NULL;
  const bool good = reader->open(&host, options, path, &state) == PD_OK && reader->next_window(state, table) == PD_OK;
  if (state) reader->close(state);
  return good;
}

typedef enum part { PART_SCAN, PART_READ, PART_SORT, PART_TABLES, PART_COUNT } part;
typedef struct measured {
  double seconds[PART_COUNT][MOST_ROUNDS], held[PART_COUNT];
  double events;
} measured;

static bool all_tables(const pd_trace *trace) {
  analysis *of;
  const analysis_context context = {.device = trace->device, .cores = 1};
  if (analysis_open(&context, &of) != PD_OK) return false;
  const pd_analysis *table = analysis_table(of);
  const bool made = table->tables(table, trace, NULL) != NULL;
  analysis_close(of);
  return made;
}

static bool one_round(const char *path, int round, measured *out) {
  intake *rows = NULL;
  pd_trace *trace = NULL;
  double at = now_s();
#define DONE(which)                                                                                                    \
  do {                                                                                                                 \
    out->seconds[which][round] = now_s() - at;                                                                         \
    if (!round) out->held[which] = most_held();                                                                        \
    at = now_s();                                                                                                      \
  } while (0)
  events = 0;
  trace_return_large_blocks(); /* as analyze does */
  bool good = read_into(path, &nothing);
  DONE(PART_SCAN);
  out->events = (double)events;
  good = good && intake_open(NULL, &rows) == PD_OK && read_into(path, intake_table(rows));
  DONE(PART_READ);
  good = good && intake_finish(rows, 0, "kineto", &trace) == PD_OK;
  intake_close(rows);
  DONE(PART_SORT);
  good = good && all_tables(trace);
  DONE(PART_TABLES);
#undef DONE
  trace_free(trace);
  return good;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int report(const char *path, int rounds, measured *of) {
  static const char *const names[] = {"scan", "read", "sort", "tables"};
  static const char *const words[] = {"scanning alone", "reading into rows", "sorting into a window", "all tables"};
  const double bytes = json_bytes(path), at_first = of->held[PART_SCAN];
  if (bytes <= 0) return 1;
  printf("%s: %.1f MB of JSON, %.0f events kept; one core, median of %d\n", path, bytes * 1e-6, of->events, rounds);
  printf("%-24s %10s %10s %10s %16s\n", "", "ms", "MB/s", "ns/event", "most memory, MB");
  for (part p = 0; p < PART_COUNT; p++) {
    qsort(of->seconds[p], (size_t)rounds, sizeof(double), by_value);
    const double s = of->seconds[p][rounds / 2];
    printf("%-24s %10.1f %10.0f %10.1f %16.1f\n", words[p], 1e3 * s, 1e-6 * bytes / s, 1e9 * s / of->events,
           1e-6 * of->held[p]);
  }
  printf("rows: %.1f bytes an event, %.2f of the file\n", (of->held[PART_READ] - at_first) / of->events,
         (of->held[PART_READ] - at_first) / bytes);
  printf("{\"bytes\": %.0f, \"events\": %.0f", bytes, of->events);
  for (part p = 0; p < PART_COUNT; p++)
    printf(", \"%s_s\": %.6f, \"%s_held\": %.0f", names[p], of->seconds[p][rounds / 2], names[p], of->held[p]);
  puts("}");
  return 0;
}

static int read_trace(const char *path, int rounds) {
  static measured of;
  const pd_plugin *(*entry)(void) = NULL;
  void *library = dlopen(READER_PATH, RTLD_NOW | RTLD_LOCAL);
  if (library) *(void **)&entry = dlsym(library, "pd_plugin_entry");
  const pd_plugin *plugin = entry ? entry() : NULL;
  if (!plugin) {
    (void)fprintf(stderr, "bench_kineto: %s\n", dlerror());
    if (library) dlclose(library);
    return 1;
  }
  reader = plugin->ops.reader;
  bool good = true;
  for (int i = 0; i < rounds && good; i++) good = one_round(path, i, &of);
  const int code = good ? report(path, rounds, &of) : 1;
  dlclose(library);
  return code;
}

static int both(void) {
  char path[] = "/tmp/bench_kineto_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0) return 1;
  close(file);
  const int code = write_trace(path, (uint64_t)DEFAULT_MB << 20) ? read_trace(path, 3) : 1;
  unlink(path);
  return code;
}

int main(int argc, char **argv) {
  if (argc == 1) return both();
  const long number = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
  if (argc == 4 && strcmp(argv[1], "write") == 0 && number > 0)
    return write_trace(argv[2], (uint64_t)number * 1000000) ? 0 : 1;
  if ((argc == 3 || (argc == 4 && number > 0 && number <= MOST_ROUNDS)) && strcmp(argv[1], "read") == 0)
    return read_trace(argv[2], argc == 4 ? (int)number : 1);
  (void)fprintf(stderr, "usage: bench_kineto [write FILE MB | read FILE [ROUNDS]]\n");
  return 2;
}
