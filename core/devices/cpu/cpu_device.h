/*
 * The CPU device's own state. A stream is a ring of jobs and one thread that runs them in order; launching a job copies
 * its arguments into the ring and returns.
 */
#ifndef DEVICES_CPU_CPU_DEVICE_H
#define DEVICES_CPU_CPU_DEVICE_H

#include <pdhost/device.h>

#include <oneapi/dnnl/dnnl.h>
#include <pthread.h>
#include <stdatomic.h>

#define JOB_BYTES 448

typedef struct cpu_options {
  int64_t threads;
  int64_t queue_depth;
} cpu_options;

typedef struct cpu_block cpu_block; /* cpu_memory.c */
typedef struct cpu_plan cpu_plan;   /* cpu_plans.c */

struct pd_device {
  const pd_host *host;
  const pd_record *record; /* NULL: nothing is recorded */
  cpu_options options;
  char name[64], versions[128];
  pthread_mutex_t lock; /* of everything below but the atomics */
  pd_stream *streams;
  cpu_block *pinned; /* host_alloc's blocks */
  cpu_block *idle;   /* the pool's free blocks */
  uint64_t allocated, reserved, peak_allocated, pinned_bytes;
  uint64_t total_bytes;       /* of the machine; set once */
  atomic_bool profile_memory; /* allocations are memory events; written by attach */
  atomic_uint_fast64_t correlation;
  atomic_bool recording;
  atomic_uint_fast64_t recorded_launches, recorded_done;
  pthread_mutex_t drain_lock;
  pthread_cond_t drained;
  dnnl_engine_t engine;
};

/* Runs on the stream's thread; arguments are the job's copy. */
typedef pd_status (*job_run)(pd_stream *stream, void *arguments);

/* What a job leaves behind as a device record. */
typedef struct job_record {
  pd_activity_kind kind; /* 0: none, as for events */
  pd_memory_kind from, to;
  uint32_t reserved;
  uint64_t bytes;
} job_record;

typedef struct job {
  job_run run;
  const char *text;  /* the kernel's name; NULL: none */
  uint32_t name;     /* string id of the device record */
  uint32_t recorded; /* 1: leaves a device record */
  bool always;       /* runs after a failure of the stream, too: it frees or signals something */
  uint64_t correlation;
  job_record record;
  _Alignas(16) unsigned char arguments[JOB_BYTES];
} job;

struct pd_stream {
  pd_device *device;
  pd_stream *next;
  uint32_t id;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t work, room, idle;
  job *ring;
  uint64_t depth, head, tail; /* head: next to run; tail: next free; both only grow */
  uint64_t wake_at;           /* the nearest head that a caller waits for in `idle`; UINT64_MAX: none waits */
  bool busy, closing;
  pd_status failed;
  char message[256];
  dnnl_stream_t dnnl;
  cpu_plan *plans;
};

/* Queues one job of `bytes` bytes of arguments; waits while the ring is full. `site` names the device record, `call`
 * the runtime call. `wait`: returns when the job is done, with its failure. */
typedef struct launch {
  pd_site *call;
  pd_site *site;
  pd_api_class api;
  bool wait;
  bool always; /* as in job */
  job_record record;
} launch;
pd_status cpu_stream_launch(pd_stream *stream, const launch *how, job_run run, const void *arguments, size_t bytes);

/* The plain case: one kernel called `site`. */
pd_status cpu_stream_kernel(pd_stream *stream, pd_site *site, job_run run, const void *arguments, size_t bytes);

/* Sets the stream's sticky failure; for jobs. */
pd_status cpu_stream_fail(pd_stream *stream, pd_status status, const char *format, ...) PD_PRINTF(3, 4);

/* Starts a runtime record: its ticks, or 0 where nothing is recorded. */
uint64_t cpu_call_begin(const pd_device *device);
void cpu_call_end(const pd_device *device, pd_site *call, pd_api_class api, uint64_t correlation, uint64_t start);

extern const pd_stream_ops cpu_stream_ops;
extern const pd_memory_ops cpu_memory_ops;
extern const pd_profile_ops cpu_profile_ops;
extern const pd_tensor_ops cpu_tensor_ops;

/* Frees the pool; for close. */
void cpu_memory_release(pd_device *device);
/* Frees the stream's oneDNN primitives; on its own thread. */
void cpu_plans_release(pd_stream *stream);

#endif
