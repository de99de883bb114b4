/*
 * What each sink costs at a window's end: the tables first, then every file sink alone, from the callback to the file
 * closed. Wall clock and processor time, medians of the rounds.
 *
 *   pdhost -c conf/tiny_ops.ini --device cpu -o schedule.active=60 --sink window -o run.trace_dir=DIR
 *   bench_sinks DIR/window0.pdw [ROUNDS]
 *
 * Without a window it takes a small hand-made one.
 */
#include "fake_trace.h"
#include "sink_run.h"

#include "tables/window_tables.h"
#include "base/files.h"
#include "score/window_reader.h"

#include <pdhost/clocks.h>

#include <ftw.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ROUNDS = 101, DEFAULT_ROUNDS = 9 };

typedef struct cost {
  double wall_ms, cpu_ms;
} cost;

static cost now(void) {
  struct rusage used;
  getrusage(RUSAGE_SELF, &used);
  return (cost){1e-6 * (double)pd_monotonic_ns(), (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
                                                      (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e3};
}

static int by_wall(const void *a, const void *b) {
  const cost *x = a, *y = b;
  return (x->wall_ms > y->wall_ms) - (x->wall_ms < y->wall_ms);
}

static int by_cpu(const void *a, const void *b) {
  const cost *x = a, *y = b;
  return (x->cpu_ms > y->cpu_ms) - (x->cpu_ms < y->cpu_ms);
}

static void print_costs(const char *name, cost *costs, int rounds, uint64_t bytes) {
  qsort(costs, (size_t)rounds, sizeof *costs, by_cpu);
  const double cpu_ms = costs[rounds / 2].cpu_ms;
  qsort(costs, (size_t)rounds, sizeof *costs, by_wall);
  printf("  %-26s %8.1f ms (%.1f to %.1f)  processor %8.1f ms  %8.2f MB\n", name, costs[rounds / 2].wall_ms,
         costs[0].wall_ms, costs[rounds - 1].wall_ms, cpu_ms, (double)bytes / 1e6);
}

static analysis *open_analysis(const pd_trace *trace) {
  const analysis_context context = {
      .device = trace->device, .batch_size = 64, .profile_memory = true, .with_modules = true, .cores = 2};
  analysis *tables = NULL;
  return analysis_open(&context, &tables) == PD_OK ? tables : NULL;
}

/* The tables of the window, computed anew in each round. */
static int time_tables(const pd_trace *trace, int rounds) {
  cost costs[MOST_ROUNDS] = {0};
  for (int i = 0; i < rounds; i++) {
    const pd_table_request request = {.size = sizeof request};
    const cost start = now();
    analysis *tables = open_analysis(trace);
    if (!tables || !analysis_table(tables)->tables(analysis_table(tables), trace, &request)) return 1;
    const cost end = now();
    costs[i] = (cost){end.wall_ms - start.wall_ms, end.cpu_ms - start.cpu_ms};
    analysis_close(tables);
  }
  print_costs("tables", costs, rounds, 0);
  return 0;
}

static uint64_t announced_bytes(const files *service) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < files_announced_count(service); i++) {
    struct stat about;
    if (stat(files_announced(service, i), &about) == 0) bytes += (uint64_t)about.st_size;
  }
  return bytes;
}

/* One sink over one window; the tables are there already. */
static pd_status write_once(const char *plugin, const char *const *settings, const pd_trace *trace, analysis *tables,
                            const char *folder, cost *spent, uint64_t *bytes) {
  sink_run run;
  pd_run header = *fake_run(folder);
  files *service = files_open();
  header.trace_dir = folder;
  if (!service || !sink_run_load(&run, plugin, settings)) return PD_NO_MEMORY;
  run.host.extension_count = 0; /* files on the disk instead of in memory */
  test_host_add(&run.host, PD_EXT_FILES, files_table(service, &run.host.host));
  test_host_add(&run.host, PD_EXT_ANALYSIS, analysis_table(tables));
  pd_status status = sink_run_open(&run, &header);
  const cost start = now();
  if (status == PD_OK) status = sink_run_trace(&run, trace);
  const cost end = now();
  if (run.state) {
    const pd_status closed = sink_run_close(&run, status == PD_OK ? fake_summary() : NULL);
    if (status == PD_OK) status = closed;
  }
  *spent = (cost){end.wall_ms - start.wall_ms, end.cpu_ms - start.cpu_ms};
  *bytes = announced_bytes(service);
  if (status != PD_OK) fprintf(stderr, "bench_sinks: %s: %s\n", plugin, run.host.message);
  sink_run_unload(&run);
  files_close(service);
  return status;
}

static int time_sinks(const pd_trace *trace, const char *folder, int rounds) {
  char json_path[512], table_path[512];
  snprintf(json_path, sizeof json_path, "output_json=%s/metrics.json", folder);
  snprintf(table_path, sizeof table_path, "path=%s/tables.txt", folder);
  const struct {
    const char *name, *sink, *setting;
  } sinks[] = {{"table", "table", table_path},
               {"json", "json", json_path},
               {"csv", "csv", NULL},
               {"csv without events", "csv", "events=false"},
               {"chrome_trace", "chrome_trace", NULL},
               {"chrome_trace, gzip", "chrome_trace", "gzip=true"},
               {"tensorboard", "tensorboard", NULL}};
  const pd_table_request request = {.size = sizeof request};
  analysis *tables = open_analysis(trace);
  int failed = !tables || !analysis_table(tables)->tables(analysis_table(tables), trace, &request);
  for (size_t s = 0; s < sizeof sinks / sizeof *sinks && !failed; s++) {
    cost costs[MOST_ROUNDS] = {0};
    uint64_t bytes = 0;
    char plugin[512];
    snprintf(plugin, sizeof plugin, SINK_FOLDER "/%s.so", sinks[s].sink);
    for (int i = 0; i < rounds && !failed; i++)
      failed = write_once(plugin, (const char *[]){sinks[s].setting, NULL}, trace, tables, folder, &costs[i], &bytes) !=
               PD_OK;
    if (!failed) print_costs(sinks[s].name, costs, rounds, bytes);
  }
  analysis_close(tables);
  return failed;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *at) {
  (void)about;
  (void)kind;
  (void)at;
  return remove(path);
}

static int run_bench(const pd_trace *trace, int rounds) {
  char folder[] = "/tmp/bench_sinks.XXXXXX";
  if (!mkdtemp(folder)) return 1;
  printf("window of %llu steps: %llu ranges, %llu calls, %llu device records, %llu memory events; %d rounds\n",
         (unsigned long long)trace->steps.count, (unsigned long long)trace->ranges.count,
         (unsigned long long)trace->calls.count, (unsigned long long)trace->activities.count,
         (unsigned long long)trace->memory.count, rounds);
  int failed = time_tables(trace, rounds);
  if (!failed) failed = time_sinks(trace, folder, rounds);
  return nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) != 0 || failed;
}

int main(int argc, char **argv) {
  const int rounds = argc > 2 ? (int)strtol(argv[2], NULL, 10) : DEFAULT_ROUNDS;
  if (rounds < 1 || rounds > MOST_ROUNDS) {
    fprintf(stderr, "usage: bench_sinks [WINDOW [ROUNDS]]; 1 to %d rounds\n", MOST_ROUNDS);
    return 2;
  }
  if (argc > 1) {
    window_file window;
    error err = {0};
    if (!window_file_read(argv[1], &window, &err)) {
      fputs(err.text, stderr);
      return 1;
    }
    const int failed = run_bench(&window.trace, rounds);
    window_file_close(&window);
    return failed;
  }
  fake_trace *fake = fake_trace_open();
  if (!fake) return 1;
  fake_trace_training(fake, 0, 60);
  const pd_trace *trace = fake_trace_finish(fake);
  const int failed = trace ? run_bench(trace, rounds) : 1;
  fake_trace_close(fake);
  return failed;
}
