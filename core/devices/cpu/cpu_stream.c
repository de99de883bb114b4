/* Streams: a ring of jobs, one thread each. Callers wait only where the ring is full or they ask to. */
#include "cpu_device.h"
#include "cpu_stream.h"
#include "cpu_guard.h"
#include "openmp.h"

#include <pdhost/clocks.h>
#include <pdhost/thread_start.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t thread_id(void) {
  static _Thread_local uint32_t id;
  if (!id) id = (uint32_t)syscall(SYS_gettid);
  return id;
}

uint64_t cpu_call_begin(const pd_device *device) {
  if (!device->record || !atomic_load_explicit(&device->recording, memory_order_relaxed)) return 0;
  return device->record->ticks(device->record);
}

void cpu_call_end(const pd_device *device, pd_site *call, pd_api_class api, uint64_t correlation, uint64_t start) {
  if (!start) return;
  const pd_record *record = device->record;
  const pd_activity activity = {.kind = PD_ACTIVITY_RUNTIME,
                                .name = pd_site_id(record, call),
                                .start = (int64_t)start,
                                .end = (int64_t)record->ticks(record),
                                .correlation = correlation,
                                .thread = thread_id(),
                                .u.api = {.api = api}};
  record->activities(record, PD_CLOCK_TICKS, &activity, 1);
}

static void report_done(pd_stream *stream, const job *done, uint64_t start) {
  pd_device *device = stream->device;
  const pd_record *record = device->record;
  pd_activity activity = {.kind = done->record.kind,
                          .name = done->name,
                          .start = (int64_t)start,
                          .end = (int64_t)record->ticks(record),
                          .correlation = done->correlation,
                          .stream = stream->id,
                          .bytes = done->record.bytes};
  if (done->record.kind == PD_ACTIVITY_KERNEL) {
    activity.u.kernel.occupancy = activity.u.kernel.waves = -1; /* a processor has neither grid nor blocks */
  } else {
    activity.u.copy.from = done->record.from;
    activity.u.copy.to = done->record.to;
  }
  record->activities(record, PD_CLOCK_TICKS, &activity, 1);
  atomic_fetch_add(&device->recorded_done, 1);
  pthread_mutex_lock(&device->drain_lock);
  pthread_cond_broadcast(&device->drained);
  pthread_mutex_unlock(&device->drain_lock);
}

typedef struct guarded_job {
  pd_stream *stream;
  job *job;
} guarded_job;

static void run_plainly(void *state) {
  const guarded_job *guarded = state;
  (void)guarded->job->run(guarded->stream, guarded->job->arguments);
}

static void run_job(pd_stream *stream, job *next) {
  guarded_job guarded = {stream, next};
  char text[128] = "";
  const cpu_caught caught = cpu_guard(run_plainly, &guarded, text, sizeof text);
  if (caught != CPU_CAUGHT_NOTHING)
    cpu_stream_fail(stream, caught == CPU_CAUGHT_NO_MEMORY ? PD_NO_MEMORY : PD_DEVICE, "%s: oneDNN threw %s",
                    next->text ? next->text : "a job", text);
}

/* Waits until the jobs before `until` have run. The lock is held. */
static void wait_until(pd_stream *stream, uint64_t until) {
  while (stream->head < until) {
    if (until < stream->wake_at) stream->wake_at = until;
    pthread_cond_wait(&stream->idle, &stream->lock);
  }
}

/* Waking a caller after every job would make each job longer. A caller that waits for a later one sets
 * wake_at again. The lock is held. */
static void wake_waiting(pd_stream *stream) {
  stream->wake_at = UINT64_MAX;
  pthread_cond_broadcast(&stream->idle);
}

static void *run_jobs(void *argument) {
  pd_stream *stream = argument;
  pd_device *device = stream->device;
  char name[32];
  snprintf(name, sizeof name, "stream %u", stream->id);
  if (device->record) device->record->name_thread(device->record, name);
  if (device->options.threads) omp_set_num_threads((int)device->options.threads);
  pthread_mutex_lock(&stream->lock);
  for (;;) {
    while (stream->head == stream->tail && !stream->closing) pthread_cond_wait(&stream->work, &stream->lock);
    if (stream->head == stream->tail) break;
    job *next = &stream->ring[stream->head % stream->depth];
    /* A failure sticks: what follows is accounted for, but not run. */
    const bool skip = stream->failed != PD_OK && !next->always;
    stream->busy = true;
    pthread_mutex_unlock(&stream->lock);
    const bool recorded = next->recorded && device->record;
    const uint64_t start = recorded ? device->record->ticks(device->record) : 0;
    if (!skip) run_job(stream, next);
    if (recorded) report_done(stream, next, start);
    pthread_mutex_lock(&stream->lock);
    stream->busy = false;
    stream->head++;
    pthread_cond_broadcast(&stream->room);
    if (stream->head >= stream->wake_at) wake_waiting(stream);
  }
  pthread_mutex_unlock(&stream->lock);
  cpu_plans_release(stream);
  /* Its helpers would end some time after it; this waits for them. */
  (void)omp_pause_resource_all(OPENMP_PAUSE_HARD);
  return NULL;
}

static pd_status sticky(pd_stream *stream) {
  const pd_host *host = stream->device->host;
  return stream->failed == PD_OK ? PD_OK : host->fail(host, stream->failed, "%s", stream->message);
}

pd_status cpu_stream_launch(pd_stream *stream, const launch *how, job_run run, const void *arguments, size_t bytes) {
  pd_device *device = stream->device;
  if (bytes > JOB_BYTES) return device->host->fail(device->host, PD_INVALID, "a job's arguments are %zu bytes", bytes);
  const uint64_t start = how->call ? cpu_call_begin(device) : 0;
  const uint64_t correlation = how->call ? atomic_fetch_add(&device->correlation, 1) + 1 : 0;
  const bool recorded = start && how->record.kind;
  pd_status status = PD_OK;
  if (recorded) atomic_fetch_add(&device->recorded_launches, 1);
  pthread_mutex_lock(&stream->lock);
  while (stream->tail - stream->head == stream->depth) pthread_cond_wait(&stream->room, &stream->lock);
  job *slot = &stream->ring[stream->tail % stream->depth];
  slot->run = run;
  slot->text = how->site ? how->site->text : NULL;
  slot->name = recorded && how->site ? pd_site_id(device->record, how->site) : 0;
  slot->recorded = recorded;
  slot->always = how->always;
  slot->correlation = correlation;
  slot->record = how->record;
  if (bytes) memcpy(slot->arguments, arguments, bytes);
  const uint64_t mine = stream->tail++;
  pthread_cond_signal(&stream->work);
  if (how->wait) {
    wait_until(stream, mine + 1);
    status = sticky(stream);
  }
  pthread_mutex_unlock(&stream->lock);
  if (how->call) cpu_call_end(device, how->call, how->api, correlation, start);
  return status;
}

pd_status cpu_stream_kernel(pd_stream *stream, pd_site *site, job_run run, const void *arguments, size_t bytes) {
  static pd_site call = PD_SITE("pdLaunchKernel", 0);
  const launch how = {.call = &call, .site = site, .api = PD_API_LAUNCH, .record = {.kind = PD_ACTIVITY_KERNEL}};
  return cpu_stream_launch(stream, &how, run, arguments, bytes);
}

pd_status cpu_stream_create(pd_device *device, pd_stream **out) {
  pd_stream *stream = calloc(1, sizeof *stream);
  *out = NULL;
  if (stream) stream->ring = calloc((size_t)device->options.queue_depth, sizeof *stream->ring);
  if (!stream || !stream->ring) goto no_memory;
  stream->device = device;
  stream->depth = (uint64_t)device->options.queue_depth;
  stream->wake_at = UINT64_MAX;
  pthread_mutex_init(&stream->lock, NULL);
  pthread_cond_init(&stream->work, NULL);
  pthread_cond_init(&stream->room, NULL);
  pthread_cond_init(&stream->idle, NULL);
  if (dnnl_stream_create(&stream->dnnl, device->engine, dnnl_stream_default_flags) != dnnl_success) goto no_memory;
  pthread_mutex_lock(&device->lock);
  stream->id = device->streams ? device->streams->id + 1 : 7; /* CUDA's default stream is 7 in the traces, too */
  stream->next = device->streams;
  device->streams = stream;
  pthread_mutex_unlock(&device->lock);
  if (pd_thread_start(&stream->thread, run_jobs, stream) != 0) {
    pthread_mutex_lock(&device->lock);
    device->streams = stream->next;
    pthread_mutex_unlock(&device->lock);
    dnnl_stream_destroy(stream->dnnl);
    goto no_memory;
  }
  *out = stream;
  return PD_OK;
no_memory:
  if (stream) free(stream->ring);
  free(stream);
  return device->host->fail(device->host, PD_NO_MEMORY, "no memory or thread for a stream");
}

void cpu_stream_destroy(pd_device *device, pd_stream *stream) {
  if (!stream) return;
  pthread_mutex_lock(&stream->lock);
  stream->closing = true;
  pthread_cond_signal(&stream->work);
  pthread_mutex_unlock(&stream->lock);
  pthread_join(stream->thread, NULL);
  pthread_mutex_lock(&device->lock);
  for (pd_stream **at = &device->streams; *at; at = &(*at)->next)
    if (*at == stream) {
      *at = stream->next;
      break;
    }
  pthread_mutex_unlock(&device->lock);
  dnnl_stream_destroy(stream->dnnl);
  pthread_mutex_destroy(&stream->lock);
  pthread_cond_destroy(&stream->work);
  pthread_cond_destroy(&stream->room);
  pthread_cond_destroy(&stream->idle);
  free(stream->ring);
  free(stream);
}

static pd_status wait_idle(pd_stream *stream) {
  pthread_mutex_lock(&stream->lock);
  wait_until(stream, stream->tail);
  const pd_status status = sticky(stream);
  pthread_mutex_unlock(&stream->lock);
  return status;
}

pd_status cpu_stream_synchronize(pd_device *device, pd_stream *stream) {
  static pd_site call = PD_SITE("pdStreamSynchronize", 0);
  const uint64_t start = cpu_call_begin(device);
  const pd_status status = wait_idle(stream);
  cpu_call_end(device, &call, PD_API_SYNC, atomic_fetch_add(&device->correlation, 1) + 1, start);
  return status;
}

/* Streams are made and destroyed by the loop thread, which is the one that waits here. */
pd_status cpu_stream_synchronize_all(pd_device *device) {
  static pd_site call = PD_SITE("pdDeviceSynchronize", 0);
  const uint64_t start = cpu_call_begin(device);
  pd_status status = PD_OK;
  pthread_mutex_lock(&device->lock);
  pd_stream *stream = device->streams;
  pthread_mutex_unlock(&device->lock);
  for (; stream; stream = stream->next) {
    const pd_status one = wait_idle(stream);
    if (status == PD_OK) status = one;
  }
  cpu_call_end(device, &call, PD_API_SYNC, atomic_fetch_add(&device->correlation, 1) + 1, start);
  return status;
}
