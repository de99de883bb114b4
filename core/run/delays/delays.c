/* See delays.h. */
#include "delays.h"

#include "delays_tensor.h"

#include "base/monotonic.h"

#include <pdhost/clocks.h>

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

/* A shorter sleep is mostly the time that it takes to wake up. */
#define LEAST_SLEEP_NS 1e5
/* The end of a sleep is spent awake. */
#define AWAKE_NS 30000

struct delays {
  pd_device_ops ops;
  pd_memory_ops memory;
  pd_stream_ops streams;
  pd_tensor_ops tensors;
  const pd_device_ops *real_ops;
  pd_status (*spin)(pd_device *device, pd_stream *stream, int64_t ns); /* the device's own; NULL: it has none */
  delays_part part;                                                    /* DELAYS_COUNT: none */
  double each_ns, owed_ns, put_ns;
  uint64_t every;
  uint64_t calls[DELAYS_COUNT];
  pthread_t thread; /* the loop's; the loader's call some of these functions, too */
  int slack_ns;     /* of the thread's timers, before */
};

static delays *own; /* of the process; the loop thread's alone */

#define X(key, text, how) text,
static const char *const names[] = {DELAYS_MAP(X)};
#undef X
#define X(key, text, how) how,
static const char *const hows[] = {DELAYS_MAP(X)};
#undef X

const char *delays_name(delays_part part) { return names[part]; }
const char *delays_how(delays_part part) { return hows[part]; }

/* ---- what waits ---- */

/* Sleeps: a host that spins would take a core from a device of threads. */
static int64_t pause_ns(int64_t ns) {
  const int64_t begin = monotonic_ns(), end = begin + ns;
  const struct timespec until = {.tv_sec = (end - AWAKE_NS) / 1000000000, .tv_nsec = (end - AWAKE_NS) % 1000000000};
  if (ns > AWAKE_NS)
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {}
  while (monotonic_ns() < end) {}
  return monotonic_ns() - begin;
}

/* What was slept too long is taken off the next. */
static void delay_host(delays *self, delays_part part) {
  if (!pthread_equal(self->thread, pthread_self())) return;
  self->calls[part]++;
  if (self->part != part) return;
  self->owed_ns += self->each_ns;
  if (self->owed_ns < LEAST_SLEEP_NS) return;
  const double slept = (double)pause_ns((int64_t)self->owed_ns);
  self->owed_ns -= slept;
  self->put_ns += slept;
}

static pd_status delay_stream(delays *self, delays_part part, pd_device *device, pd_stream *stream) {
  if (!pthread_equal(self->thread, pthread_self())) return PD_OK;
  const uint64_t call = self->calls[part]++;
  if (self->part != part || call % self->every || !delays_has_spin(self)) return PD_OK;
  const double ns = self->each_ns * (double)self->every;
  self->put_ns += ns;
  return self->spin(device, stream, (int64_t)ns);
}

static pd_status before_kernel(pd_device *device, pd_stream *stream) {
  delay_host(own, DELAYS_host);
  return delay_stream(own, DELAYS_kernels, device, stream);
}

/* ---- the device's other functions ---- */

static pd_status slow_copy(pd_device *device, pd_stream *stream, void *to, const void *from, uint64_t bytes,
                           pd_copy_kind kind) {
  const delays_part part = kind == PD_COPY_DEVICE_TO_HOST ? DELAYS_reads : DELAYS_copies;
  const pd_status status = delay_stream(own, part, device, stream);
  return status == PD_OK ? own->real_ops->memory->copy(device, stream, to, from, bytes, kind) : status;
}

static pd_status slow_alloc(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes, void **out) {
  delay_host(own, DELAYS_allocations);
  return own->real_ops->memory->alloc(device, stream, allocator, bytes, out);
}

static pd_status slow_free(pd_device *device, pd_stream *stream, pd_allocator allocator, uint64_t bytes, void *data) {
  if (data) delay_host(own, DELAYS_allocations);
  return own->real_ops->memory->free(device, stream, allocator, bytes, data);
}

static pd_status slow_synchronize(pd_device *device, pd_stream *stream) {
  const pd_status status = own->real_ops->stream->synchronize(device, stream);
  delay_host(own, DELAYS_syncs);
  return status;
}

static pd_status slow_device_synchronize(pd_device *device) {
  const pd_status status = own->real_ops->stream->device_synchronize(device);
  delay_host(own, DELAYS_syncs);
  return status;
}

static pd_status slow_event_synchronize(pd_device *device, pd_event *event) {
  const pd_status status = own->real_ops->stream->event_synchronize(device, event);
  delay_host(own, DELAYS_syncs);
  return status;
}

/* ---- life ---- */

/* What a device of an older size does not have stays NULL. */
static void copy_table(void *to, size_t room, const void *from, uint32_t size) {
  memcpy(to, from, size < room ? size : room);
}

delays *delays_open(void) {
  delays *self = own ? NULL : calloc(1, sizeof *self);
  if (!self) return NULL;
  self->thread = pthread_self();
  self->slack_ns = prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  (void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* of sleeps; without it they are longer, and are measured all the same */
  delays_clear(self);
  own = self;
  return self;
}

void delays_close(delays *self) {
  if (!self) return;
  if (self->slack_ns > 0) (void)prctl(PR_SET_TIMERSLACK, self->slack_ns, 0, 0, 0);
  own = NULL;
  free(self);
}

void delays_install(delays *self, pd_device_access *access) {
  const pd_device_ops *real = access->ops;
  self->real_ops = real;
  copy_table(&self->ops, sizeof self->ops, real, real->size);
  copy_table(&self->memory, sizeof self->memory, real->memory, real->memory->size);
  copy_table(&self->streams, sizeof self->streams, real->stream, real->stream->size);
  copy_table(&self->tensors, sizeof self->tensors, real->tensor, real->tensor->size);
  self->spin = self->tensors.spin;
  self->memory.copy = slow_copy;
  self->memory.alloc = slow_alloc;
  self->memory.free = slow_free;
  self->streams.synchronize = slow_synchronize;
  self->streams.device_synchronize = slow_device_synchronize;
  self->streams.event_synchronize = slow_event_synchronize;
  delays_tensor_wrap(&self->tensors, before_kernel);
  self->ops.memory = &self->memory;
  self->ops.stream = &self->streams;
  self->ops.tensor = &self->tensors;
  access->ops = &self->ops;
}

bool delays_has_spin(const delays *self) { return self->spin != NULL; }

/* ---- what is set ---- */

void delays_set(delays *self, delays_part part, double each_ns, uint64_t every) {
  self->part = part;
  self->each_ns = each_ns;
  self->every = every ? every : 1;
  self->owed_ns = self->put_ns = 0;
}

void delays_clear(delays *self) { delays_set(self, DELAYS_COUNT, 0, 1); }
uint64_t delays_calls(const delays *self, delays_part part) { return self->calls[part]; }
double delays_put_ns(const delays *self) { return self->put_ns; }
