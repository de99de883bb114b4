/* See bench.h. */
#include "bench.h"

#include "base/error.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "base/version.h"
#include "run/aside.h"
#include "run/run_parts.h"
#include "run/truth/dial_run.h"

#include <pdhost/clocks.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* What is written to empty a cache: more than any GPU's L2 holds, and twice a processor's last cache. */
enum { FLUSH_CUDA_BYTES = 256 << 20, FLUSH_LEAST_BYTES = 64 << 20 };

struct bench {
  run_state *run;
  const config *settings;
  bench_kind kind;
  guard *watch;
  const pd_batch *batch;
  uint64_t steps; /* done, for their index */
  pd_event *begin, *end;
  pd_tensor flush; /* data NULL: the cache stays as it is */
  char failure[1024];
};

double bench_clock(void *user) {
  (void)user;
  return 1e-9 * (double)monotonic_ns();
}

static const pd_stream_ops *streams(const bench *self) { return self->run->device_ops->stream; }

/* Keeps why: the first of the hosts that has a message, or the status's own text. */
static pd_status fail(bench *self, pd_status status, const char *where) {
  service_host *const hosts[] = {self->run->scenario_host, self->run->core_host, self->run->device_host};
  char message[768] = "";
  for (size_t i = 0; i < sizeof hosts / sizeof hosts[0] && !message[0]; i++)
    if (hosts[i]) service_host_take_message(hosts[i], message, sizeof message);
  snprintf(self->failure, sizeof self->failure, "%s: %s", where, message[0] ? message : service_status_text(status));
  return status;
}

const char *bench_failure(const bench *self) { return self->failure; }

/* ---- up and down ---- */

static pd_status open_flush(bench *self) {
  const pd_device_access *access = &self->run->access;
  int64_t bytes = FLUSH_CUDA_BYTES;
  if (!self->run->props.is_cuda) {
    const long last = sysconf(_SC_LEVEL3_CACHE_SIZE);
    bytes = 2 * (int64_t)last > FLUSH_LEAST_BYTES ? 2 * (int64_t)last : FLUSH_LEAST_BYTES;
  }
  self->flush = (pd_tensor){.shape = {bytes / (int64_t)sizeof(float)}, .rank = 1, .dtype = PD_F32};
  return access->ops->memory->alloc(access->device, access->stream, PD_ALLOCATOR_RAW, (uint64_t)bytes,
                                    &self->flush.data);
}

/* Where the run asks for an injection by its time. */
static pd_status set_dial(bench *self) {
  const pd_status status = dial_run(self->run);
  if (status != PD_OK) snprintf(self->failure, sizeof self->failure, "%s", self->run->failure);
  return status;
}

static pd_status open_step(bench *self) {
  const benchmark_settings *wanted = &self->settings->benchmark;
  const run_state *run = self->run;
  pd_status status = set_dial(self);
  if (status == PD_OK) status = data_loader_iter_begin(run->loader);
  if (status == PD_OK) status = data_loader_next(run->loader, &self->batch);
  if (status == PD_OK && wanted->device_time) status = streams(self)->event_create(run->access.device, &self->begin);
  if (status == PD_OK && wanted->device_time) status = streams(self)->event_create(run->access.device, &self->end);
  if (status == PD_OK && wanted->cold_cache) status = open_flush(self);
  return status;
}

static pd_status open_parts(bench *self) {
  const run_state *run = self->run;
  const pd_status status = self->kind == BENCH_STEP ? open_step(self) : PD_OK;
  self->watch = status == PD_OK ? guard_open(run->props.is_cuda, run->props.index) : NULL;
  if (status != PD_OK) return fail(self, status, "benchmark");
  return self->watch ? PD_OK : fail(self, PD_NO_MEMORY, "benchmark");
}

static int open_bench(config *settings, bench_kind kind, delays *slow, bench **out) {
  *out = NULL;
  bench *self = calloc(1, sizeof *self);
  run_state *run = calloc(1, sizeof *run);
  if (!self || !run) {
    free(self);
    free(run);
    error_line_print(FAULT_MEMORY, NULL, "benchmark: %s", service_status_text(PD_NO_MEMORY));
    return CODE_INTERNAL;
  }
  if (kind == BENCH_STEP) {
    settings->data.num_workers = 0;
    settings->data.prefetch_to_device = false;
  }
  run->delays = slow;
  self->run = run;
  self->settings = settings;
  self->kind = kind;
  int code = run_parts_open(run, settings);
  if (code == CODE_DONE && open_parts(self) != PD_OK) {
    error_line_print(FAULT_SCENARIO, NULL, "%s", self->failure);
    code = CODE_SCENARIO;
  }
  if (code == CODE_DONE)
    *out = self;
  else
    bench_close(self);
  return code;
}

int bench_open(config *settings, bench_kind kind, bench **out) { return open_bench(settings, kind, NULL, out); }

int bench_open_delayed(config *settings, delays *slow, bench **out) {
  return open_bench(settings, BENCH_LOOP, slow, out);
}

void bench_close(bench *self) {
  if (!self) return;
  run_state *run = self->run;
  const pd_device_access *access = &run->access;
  if (self->batch) data_loader_iter_end(run->loader);
  if (self->begin) streams(self)->event_destroy(access->device, self->begin);
  if (self->end) streams(self)->event_destroy(access->device, self->end);
  if (self->flush.data)
    (void)access->ops->memory->free(access->device, access->stream, PD_ALLOCATOR_RAW,
                                    (uint64_t)self->flush.shape[0] * sizeof(float), self->flush.data);
  guard_close(self->watch);
  run_parts_close(run);
  free(run);
  free(self);
}

/* ---- blocks ---- */

timer_rules bench_rules(const config *settings) {
  const benchmark_settings *wanted = &settings->benchmark;
  timer_method method = TIMER_TIMEIT;
  while (strcmp(timer_method_name(method), wanted->method) != 0) method++;
  const double least_s = method == TIMER_ADAPTIVE_AUTORANGE ? 0.01 : 0.2;
  return (timer_rules){.method = method,
                       .number = wanted->cold_cache ? 1 : (uint64_t)wanted->number,
                       .min_run_time_s = wanted->min_run_time ? 1e-9 * (double)wanted->min_run_time : least_s,
                       .min_blocks = (uint64_t)wanted->min_blocks,
                       .max_run_time_s = 1e-9 * (double)wanted->max_run_time,
                       .threshold = wanted->threshold,
                       .clock = wanted->cold_cache ? bench_clock : NULL};
}

steady_rules bench_steady_rules(const config *settings) {
  return (steady_rules){.window_s = bench_rules(settings).min_run_time_s,
                        .max_time_s = 1e-9 * (double)settings->benchmark.max_warmup_time,
                        .clock = settings->benchmark.cold_cache ? bench_clock : NULL};
}

typedef pd_status (*step_function)(void *state, const pd_step *step);

static pd_status run_steps(bench *self, step_function run_step, uint64_t number, pd_phase phase) {
  const run_state *run = self->run;
  pd_step step = {
      .size = sizeof step, .phase = phase, .batch = self->batch, .dialled = run->dialled, .amount = run->amount};
  for (uint64_t i = 0; i < number; i++) {
    if (signals_pending()) return PD_STOP;
    step.index = self->steps++;
    const pd_status status = run_step(run->scenario_state, &step);
    if (status == PD_OK) {
      progress_step();
      continue;
    }
    char where[128];
    snprintf(where, sizeof where, "scenario %s: %sstep %llu", run->scenario_name,
             phase == PD_PHASE_WARMUP_STEPS ? "warm-up " : "", (unsigned long long)step.index);
    if (status == PD_STOP) {
      snprintf(self->failure, sizeof self->failure, "%s: it asked for the end of the run", where);
      return status;
    }
    return fail(self, status, where);
  }
  return PD_OK;
}

/* Steps of the loop; the mean time of the last `timed`. */
static pd_status run_loop(bench *self, uint64_t settle, uint64_t timed, double *mean_ns) {
  aside steps = {.steps = settle + timed, .timed = timed};
  const pd_status status = aside_steps(self->run, &steps);
  *mean_ns = steps.mean_ns;
  if (signals_pending()) return PD_STOP;
  if (status == PD_OK && timed && isnan(steps.mean_ns)) {
    snprintf(self->failure, sizeof self->failure,
             "[data] dataset_size: the data of an epoch end within a block of %llu steps; make it larger",
             (unsigned long long)steps.steps);
    return PD_INVALID;
  }
  if (status == PD_STOP)
    snprintf(self->failure, sizeof self->failure, "scenario %s: it asked for the end of the run",
             self->run->scenario_name);
  else if (status != PD_OK)
    snprintf(self->failure, sizeof self->failure, "%s", self->run->failure);
  return status;
}

static pd_status loop_block(bench *self, uint64_t number, double *host_s) {
  double mean_ns = 0;
  guard_look(self->watch);
  const pd_status status = number ? run_loop(self, aside_to_settle(self->run), number, &mean_ns) : PD_OK;
  *host_s = 1e-9 * mean_ns * (double)number;
  return status;
}

pd_status bench_warm_up(bench *self) {
  double ignored;
  if (self->kind == BENCH_LOOP) {
    const pd_status warm = run_loop(self, self->run->warmup_steps, 0, &ignored);
    return warm == PD_OK ? set_dial(self) : warm;
  }
  pd_status status = run_steps(self, self->run->scenario->step, self->run->warmup_steps, PD_PHASE_WARMUP_STEPS);
  if (status != PD_OK) return status;
  self->steps = 0;
  status = streams(self)->device_synchronize(self->run->access.device);
  return status == PD_OK ? PD_OK : fail(self, status, "device");
}

static pd_status empty_cache(bench *self) {
  const pd_device_access *access = &self->run->access;
  return access->ops->tensor->fill(access->device, access->stream, &self->flush, 0);
}

pd_status bench_block(void *user, uint64_t number, double *host_s, double *device_s) {
  bench *self = user;
  const pd_device_access *access = &self->run->access;
  const pd_stream_ops *stream = streams(self);
  *host_s = *device_s = (double)NAN;
  if (self->kind == BENCH_LOOP) return loop_block(self, number, host_s);
  guard_look(self->watch);
  pd_status status = self->flush.data && number ? empty_cache(self) : PD_OK;
  if (status == PD_OK) status = stream->device_synchronize(access->device);
  if (status == PD_OK && self->begin) status = stream->event_record(access->device, access->stream, self->begin);
  if (status != PD_OK) return fail(self, status, "device");
  const int64_t begin_ns = monotonic_ns();
  const pd_status stepped = run_steps(self, self->run->scenario->step, number, PD_PHASE_ACTIVE);
  if (self->end) status = stream->event_record(access->device, access->stream, self->end);
  if (status == PD_OK) status = stream->device_synchronize(access->device);
  const int64_t end_ns = monotonic_ns();
  if (stepped != PD_OK) return stepped;
  if (status != PD_OK) return fail(self, status, "device");
  *host_s = 1e-9 * (double)(end_ns - begin_ns);
  if (!self->begin) return PD_OK;
  double ns;
  status = stream->event_elapsed_ns(access->device, self->begin, self->end, &ns);
  if (status != PD_OK) return fail(self, status, "device");
  *device_s = 1e-9 * ns;
  return PD_OK;
}

/* What Callgrind is told to look for: BENCH_COUNTED_FUNCTION. Exported, so that a stripped program has its name. */
__attribute__((noinline, visibility("default"))) pd_status pdhost_counted_steps(bench *self, step_function step,
                                                                                uint64_t number);
pd_status pdhost_counted_steps(bench *self, step_function step, uint64_t number) {
  const pd_status stepped = run_steps(self, step, number, PD_PHASE_ACTIVE);
  const pd_status status = streams(self)->device_synchronize(self->run->access.device);
  if (stepped != PD_OK) return stepped;
  return status == PD_OK ? PD_OK : fail(self, status, "device");
}

static pd_status no_step(void *state, const pd_step *step) {
  (void)state;
  (void)step;
  return PD_OK;
}

pd_status bench_counted(bench *self, uint64_t number, bool empty) {
  const pd_status status = streams(self)->device_synchronize(self->run->access.device);
  if (status != PD_OK) return fail(self, status, "device");
  if (!empty) return pdhost_counted_steps(self, self->run->scenario->step, number);
  const uint64_t steps = self->steps;
  const pd_status counted = pdhost_counted_steps(self, no_step, number);
  self->steps = steps;
  return counted;
}

void bench_watch_begin(bench *self) { guard_begin(self->watch); }
void bench_watch_end(bench *self, guard_facts *facts) { guard_end(self->watch, facts); }

bool bench_gpu(const bench *self, uint32_t *index) {
  *index = self->run->props.index;
  return self->run->props.is_cuda;
}

data_loader *bench_loader(const bench *self) { return self->run->loader; }

/* ---- description ---- */

static const char *or_none(const char *text) { return text && text[0] ? text : NULL; }

/* The one batch is made by the caller's own thread, whatever the configuration asks of the loader: what was asked for
 * is kept where it does not count as a difference between two measurements. */
static pd_status describe_loader(pd_measurement *out) {
  const struct { const char *key, *value; } used[] = {{"data.num_workers", "0"}, {"data.prefetch_to_device", "false"}};
  pd_status status = PD_OK;
  for (size_t i = 0; i < sizeof used / sizeof used[0] && status == PD_OK; i++) {
    const char *given = pairs_get(&out->options, used[i].key);
    char key[64];
    if (!given || strcmp(given, used[i].value) == 0) continue;
    snprintf(key, sizeof key, "given %s", used[i].key);
    status = pairs_set(&out->conditions, key, given);
    if (status == PD_OK) status = pairs_set(&out->options, used[i].key, used[i].value);
  }
  return status;
}

static pd_status describe_options(const config *settings, pd_measurement *out) {
  pd_status status = PD_OK;
  out->threads = 1;
  for (uint64_t i = 0; i < settings->setting_count && status == PD_OK; i++) {
    const pd_setting *at = &settings->settings[i];
    char key[128];
    if (strncmp(at->section, "sink.", 5) == 0) continue; /* none of them runs */
    snprintf(key, sizeof key, "%s.%s", at->section, at->key);
    const char *value = at->value ? at->value : "";
    status = pairs_set(&out->options, key, value);
    if (!strcmp(key, "device.threads")) out->threads = measurement_threads(value);
  }
  return status;
}

static pd_status describe_versions(const bench *self, pd_measurement *out) {
  const pd_plugin *scenario = self->settings->scenario.plugin->table, *device = self->settings->device.plugin->table;
  struct utsname system;
  char text[512];
  pd_status status = pairs_set(&out->versions, "pdhost", version_text());
  if (status == PD_OK) status = pairs_set(&out->versions, "scenario", scenario->version);
  snprintf(text, sizeof text, "%s %s", device->name, device->version);
  if (status == PD_OK) status = pairs_set(&out->versions, "device", text);
  if (status == PD_OK) status = pairs_set(&out->versions, "libraries", self->run->props.versions);
  if (uname(&system) != 0) return status;
  snprintf(text, sizeof text, "%s %s %s", system.sysname, system.release, system.machine);
  return status == PD_OK ? pairs_set(&out->versions, "system", text) : status;
}

/* "Intel(R) Xeon(R) ..." of the first processor; "" where the system does not say. */
static void processor_name(char *text, size_t room) {
  char line[256];
  FILE *file = fopen("/proc/cpuinfo", "r");
  text[0] = '\0';
  while (file && !text[0] && fgets(line, sizeof line, file)) {
    const char *colon = strchr(line, ':');
    if (colon && strncmp(line, "model name", 10) == 0) snprintf(text, room, "%s", colon + 1 + (colon[1] == ' '));
  }
  text[strcspn(text, "\n")] = '\0';
  if (file) fclose(file);
}

static pd_status describe_machine(const bench *self, pd_measurement *out) {
  char text[256];
  if (gethostname(text, sizeof text) != 0) snprintf(text, sizeof text, "localhost");
  text[sizeof text - 1] = '\0';
  pd_status status = pairs_set(&out->conditions, "host_name", text);
  processor_name(text, sizeof text);
  if (status == PD_OK) status = pairs_set(&out->conditions, "processor", text);
  if (status == PD_OK && self->settings->command_line)
    status = pairs_set(&out->conditions, "command_line", self->settings->command_line);
  if (status == PD_OK && self->run->fallback[0]) status = pairs_set(&out->conditions, "fallback", self->run->fallback);
  return status;
}

pd_status bench_describe(const bench *self, pd_measurement *out) {
  const benchmark_settings *wanted = &self->settings->benchmark;
  out->start_realtime_ns = pd_clock_ns(CLOCK_REALTIME);
  out->number_per_run = 1;
  out->cold_cache = wanted->cold_cache;
  pd_status status = measurement_set(&out->label, or_none(wanted->label));
  if (status == PD_OK) status = measurement_set(&out->sub_label, or_none(wanted->sub_label));
  if (status == PD_OK) status = measurement_set(&out->description, or_none(wanted->description));
  if (status == PD_OK) status = measurement_set(&out->env, or_none(wanted->env));
  if (status == PD_OK) status = measurement_set(&out->scenario, self->run->scenario_name);
  if (status == PD_OK) status = measurement_set(&out->device, self->run->props.name);
  if (status == PD_OK) status = describe_options(self->settings, out);
  if (status == PD_OK && self->kind == BENCH_STEP) status = describe_loader(out);
  if (status == PD_OK) status = describe_versions(self, out);
  return status == PD_OK ? describe_machine(self, out) : status;
}
