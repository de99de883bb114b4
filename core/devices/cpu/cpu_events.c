/* Events of the CPU device: jobs that mark a moment of a stream, or wait for one. */
#include "cpu_events.h"

#include <pdhost/clocks.h>

#include <stdlib.h>
#include <string.h>

/* Jobs that name an event hold it: it may be destroyed while they wait in a ring. */
struct pd_event {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t recorded, completed; /* how often */
  int64_t ns;                   /* of the last completion */
  uint32_t holders;             /* its owner and the jobs */
  pd_status failed;             /* of the stream, when last completed */
  char message[256];
};

pd_status cpu_event_create(pd_device *device, pd_event **out) {
  pd_event *event = calloc(1, sizeof *event);
  *out = event;
  if (!event) return device->host->fail(device->host, PD_NO_MEMORY, "no memory for an event");
  pthread_mutex_init(&event->lock, NULL);
  pthread_cond_init(&event->changed, NULL);
  event->holders = 1;
  return PD_OK;
}

/* The lock is held, and gone afterwards. */
static void event_release(pd_event *event) {
  const bool last = --event->holders == 0;
  pthread_mutex_unlock(&event->lock);
  if (!last) return;
  pthread_mutex_destroy(&event->lock);
  pthread_cond_destroy(&event->changed);
  free(event);
}

void cpu_event_destroy(pd_device *device, pd_event *event) {
  (void)device;
  if (!event) return;
  pthread_mutex_lock(&event->lock);
  event_release(event);
}

typedef struct record_arguments {
  pd_event *event;
} record_arguments;

static pd_status run_event_record(pd_stream *stream, void *arguments) {
  pd_event *event = ((record_arguments *)arguments)->event;
  const int64_t now_ns = pd_monotonic_ns();
  pthread_mutex_lock(&event->lock);
  event->ns = now_ns;
  event->completed++;
  event->failed = stream->failed; /* written by this thread alone */
  memcpy(event->message, stream->message, sizeof event->message);
  pthread_cond_broadcast(&event->changed);
  event_release(event);
  return PD_OK;
}

pd_status cpu_event_record(pd_device *device, pd_stream *stream, pd_event *event) {
  static pd_site call = PD_SITE("pdEventRecord", 0);
  (void)device;
  pthread_mutex_lock(&event->lock);
  event->recorded++;
  event->holders++;
  pthread_mutex_unlock(&event->lock);
  const launch how = {.call = &call, .api = PD_API_OTHER, .always = true};
  const record_arguments arguments = {event};
  return cpu_stream_launch(stream, &how, run_event_record, &arguments, sizeof arguments);
}

typedef struct wait_arguments {
  pd_event *event;
  uint64_t until;
} wait_arguments;

static pd_status run_event_wait(pd_stream *stream, void *arguments) {
  (void)stream;
  const wait_arguments *wait = arguments;
  pthread_mutex_lock(&wait->event->lock);
  while (wait->event->completed < wait->until) pthread_cond_wait(&wait->event->changed, &wait->event->lock);
  event_release(wait->event);
  return PD_OK;
}

pd_status cpu_event_wait(pd_device *device, pd_stream *stream, pd_event *event) {
  static pd_site call = PD_SITE("pdStreamWaitEvent", 0);
  (void)device;
  pthread_mutex_lock(&event->lock);
  const wait_arguments wait = {event, event->recorded};
  event->holders++;
  pthread_mutex_unlock(&event->lock);
  const launch how = {.call = &call, .api = PD_API_STREAM_WAIT, .always = true};
  return cpu_stream_launch(stream, &how, run_event_wait, &wait, sizeof wait);
}

pd_status cpu_event_synchronize(pd_device *device, pd_event *event) {
  static pd_site call = PD_SITE("pdEventSynchronize", 0);
  const uint64_t start = cpu_call_begin(device);
  pd_status status = PD_OK;
  pthread_mutex_lock(&event->lock);
  const uint64_t until = event->recorded;
  while (event->completed < until) pthread_cond_wait(&event->changed, &event->lock);
  if (event->failed != PD_OK) status = device->host->fail(device->host, event->failed, "%s", event->message);
  pthread_mutex_unlock(&event->lock);
  cpu_call_end(device, &call, PD_API_SYNC, atomic_fetch_add(&device->correlation, 1) + 1, start);
  return status;
}

pd_status cpu_event_elapsed_ns(pd_device *device, pd_event *start, pd_event *end, double *ns) {
  int64_t stamps[2];
  pd_event *const both[2] = {start, end};
  for (int i = 0; i < 2; i++) {
    pthread_mutex_lock(&both[i]->lock);
    const bool done = both[i]->recorded && both[i]->completed == both[i]->recorded;
    stamps[i] = both[i]->ns;
    pthread_mutex_unlock(&both[i]->lock);
    if (!done) return device->host->fail(device->host, PD_INVALID, "an event was not recorded or has not completed");
  }
  *ns = (double)(stamps[1] - stamps[0]);
  return PD_OK;
}
