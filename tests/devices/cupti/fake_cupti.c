/* See fake_cupti.h. */
#include "fake_cupti.h"

#include <pdhost/clocks.h>

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct fake_buffer {
  uint8_t *data;
  size_t bytes, used;
  uint32_t running; /* kernels not finished */
  bool full;
  bool kept, lost; /* until the next session, for good */
  struct fake_buffer *next;
  pthread_t owner;
} fake_buffer;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the library's own */
static fake_config config = {.version = 130001};
static fake_counts counts;
static fake_buffer *buffers;
static struct {
  CUpti_ActivityKernel10 *record;
  fake_buffer *buffer;
} running[FAKE_KERNEL_SLOTS];
static uint32_t running_count, correlation, sessions_on;
static bool runtime_call[2048], driver_call[2048];
static CUpti_BuffersCallbackRequestFunc on_request;
static CUpti_BuffersCallbackCompleteFunc on_complete;
static CUpti_CallbackFunc on_state;
static void *state_user;
static bool subscribed, per_thread_set, zeroed_set, finalizing;
static pthread_t deliverers[256];
static uint32_t deliverer_count;
static pid_t subscriber_tid;
static _Thread_local bool inside;
static uint32_t stuck_id; /* 0: none */
static pthread_t stuck_thread;

static uint64_t now(void) { return (uint64_t)pd_clock_ns(CLOCK_REALTIME); }

/* Every entry: breaches first, since the real library would hang. */
static CUptiResult enter(const char *name) {
  if (inside) {
    __atomic_fetch_add(&counts.in_callback, 1, __ATOMIC_RELAXED);
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  if (__atomic_load_n(&finalizing, __ATOMIC_RELAXED)) __atomic_fetch_add(&counts.overlapping, 1, __ATOMIC_RELAXED);
  pthread_mutex_lock(&lock);
  if (config.fail_function && !strcmp(config.fail_function, name) && !(config.fail_after && config.fail_after--)) {
    pthread_mutex_unlock(&lock);
    return (CUptiResult)config.fail_code;
  }
  return CUPTI_SUCCESS;
}
#define ENTER(name)                                                                                                    \
  do {                                                                                                                 \
    CUptiResult entered = enter(name);                                                                                 \
    if (entered != CUPTI_SUCCESS) return entered;                                                                      \
  } while (0)
#define LEAVE(result)                                                                                                  \
  do {                                                                                                                 \
    pthread_mutex_unlock(&lock);                                                                                       \
    return (result);                                                                                                   \
  } while (0)

static size_t bytes_of(CUpti_ActivityKind kind) {
  switch ((int)kind) {
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
  case CUPTI_ACTIVITY_KIND_KERNEL:
    return sizeof(CUpti_ActivityKernel10) + config.record_growth - (config.record_shrink ? 8 : 0);
  case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CUpti_ActivityMemcpy6) + config.record_growth;
  case CUPTI_ACTIVITY_KIND_MEMCPY2: return sizeof(CUpti_ActivityMemcpyPtoP4) + config.record_growth;
  case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(CUpti_ActivityMemset4) + config.record_growth;
  case CUPTI_ACTIVITY_KIND_RUNTIME:
  case CUPTI_ACTIVITY_KIND_DRIVER: return sizeof(CUpti_ActivityAPI) + config.record_growth;
  case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: return sizeof(CUpti_ActivitySynchronization2) + config.record_growth;
  case CUPTI_ACTIVITY_KIND_OVERHEAD: return sizeof(CUpti_ActivityOverhead3) + config.record_growth;
  default: return 0;
  }
}

/* ---- buffers; the lock is held ------------------------------------------------------------------------------ */

static uint8_t *request(size_t *bytes) {
  uint8_t *data = NULL;
  size_t records = 1;
  *bytes = 0;
  if (!on_request) return NULL;
  inside = true;
  on_request(&data, bytes, &records);
  inside = false;
  counts.requests++;
  if (!data) {
    counts.refused++;
    return NULL;
  }
  for (size_t i = 0; i < *bytes; i += 997) counts.unzeroed += data[i] != 0;
  counts.cleared += !zeroed_set;
  return data;
}

static void complete(uint8_t *data, size_t bytes, size_t valid) {
  counts.completions++;
  if (!on_complete) return;
  inside = true;
  on_complete(NULL, 0, data, bytes, valid);
  inside = false;
}

static fake_buffer *own_buffer(size_t wanted) {
  fake_buffer *buffer = buffers;
  while (buffer && !(pthread_equal(buffer->owner, pthread_self()) && !buffer->full)) buffer = buffer->next;
  if (buffer && buffer->bytes - buffer->used < wanted) {
    buffer->full = true;
    buffer = NULL;
  }
  if (buffer) return buffer;
  size_t bytes;
  uint8_t *data = request(&bytes);
  if (!data) {
    config.dropped++;
    return NULL;
  }
  buffer = calloc(1, sizeof *buffer);
  if (!buffer) abort();
  *buffer = (fake_buffer){.data = data, .bytes = bytes, .next = buffers, .owner = pthread_self()};
  buffers = buffer;
  return buffer;
}

static void *put(CUpti_ActivityKind kind, fake_buffer **into) {
  size_t bytes = bytes_of(kind);
  fake_buffer *buffer = own_buffer(bytes);
  if (into) *into = buffer;
  if (!buffer) return NULL;
  CUpti_Activity *record = (CUpti_Activity *)(void *)(buffer->data + buffer->used);
  record->kind = kind;
  buffer->used += bytes;
  return record;
}

static void *deliver_later(void *buffer_) {
  fake_buffer *buffer = buffer_;
  usleep(2000); /* the point of this thread is to be late; no assertion depends on how late */
  pthread_mutex_lock(&lock);
  complete(buffer->data, buffer->bytes, buffer->used);
  pthread_mutex_unlock(&lock);
  free(buffer);
  return NULL;
}

static void flush(bool forced) {
  for (fake_buffer **at = &buffers; *at;) {
    fake_buffer *buffer = *at;
    if (buffer->kept || (buffer->running && !forced)) {
      at = &buffer->next;
      continue;
    }
    *at = buffer->next;
    if (config.late_completion && !forced && deliverer_count < 256) {
      if (pthread_create(&deliverers[deliverer_count], NULL, deliver_later, buffer)) abort();
      deliverer_count++;
      continue;
    }
    uint32_t kept = 0; /* a forced flush never gives a running kernel again */
    for (uint32_t i = 0; i < running_count; i++)
      if (running[i].buffer != buffer) running[kept++] = running[i];
    running_count = kept;
    complete(buffer->data, buffer->bytes, buffer->used);
    free(buffer);
  }
}

/* ---- CUPTI's functions --------------------------------------------------------------------------------------- */

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version) {
  *version = config.version;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetResultString(CUptiResult result, const char **text) {
  static _Thread_local char name[32];
  int code = (int)result, at = 31;
  name[at] = '\0';
  do name[--at] = (char)('0' + code % 10);
  while ((code /= 10) && at > 8);
  memcpy(name + at - 5, "CODE ", 5);
  *text = name + at - 5;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t *stamp) {
  *stamp = config.clock_elsewhere ? 12345 : now();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  ENTER("cuptiSetThreadIdType");
  if (counts.kernel_on) counts.bad_order++;
  counts.thread_id_type = (uint32_t)type;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *bytes, void *value) {
  ENTER("cuptiActivitySetAttribute");
  if (on_request) counts.bad_order++;
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
    if (*bytes != 1 || *(uint8_t *)value != 1) counts.attribute_changed++;
    per_thread_set = true;
  }
  if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER) zeroed_set = *bytes == 1 && *(uint8_t *)value == 1;
  LEAVE(CUPTI_SUCCESS);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user) {
  if (config.other_tool || subscribed) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  subscribed = true;
  subscriber_tid = gettid();
  counts.attaches++;
  on_state = callback;
  state_user = user;
  *subscriber = (CUpti_SubscriberHandle)(void *)&subscribed;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user) {
  ENTER("cuptiSubscribe");
  LEAVE(subscribe(subscriber, callback, user));
}
CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user,
                                       CUpti_SubscriberParams *params) {
  ENTER("cuptiSubscribe");
  if (config.other_tool && params->oldSubscriberName && params->oldSubscriberSize)
    strncpy(params->oldSubscriberName, config.other_tool, params->oldSubscriberSize - 1);
  LEAVE(subscribe(subscriber, callback, user));
}
CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  (void)subscriber;
  ENTER("cuptiUnsubscribe");
  if (!subscribed) counts.bad_order++;
  subscribed = false;
  on_state = NULL;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain) {
  (void)enable;
  (void)subscriber;
  ENTER("cuptiEnableDomain");
  if (!subscribed || domain != CUPTI_CB_DOMAIN_STATE) counts.bad_order++;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  (void)enable;
  (void)subscriber;
  ENTER("cuptiEnableCallback");
  if (!subscribed || domain != CUPTI_CB_DOMAIN_RESOURCE || cbid != CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
    counts.bad_order++;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                    CUpti_BuffersCallbackCompleteFunc completed) {
  ENTER("cuptiActivityRegisterCallbacks");
  if (!per_thread_set || !subscribed || counts.kernel_on || on_request) counts.bad_order++;
  on_request = requested;
  on_complete = completed;
  LEAVE(CUPTI_SUCCESS);
}

static CUptiResult switch_kind(CUpti_ActivityKind kind, bool on) {
  if (on && !on_request) counts.bad_order++;
  switch ((int)kind) {
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    counts.kernel_on = on;
    sessions_on += on;
    break;
  case CUPTI_ACTIVITY_KIND_MEMCPY: counts.memcpy_on = on; break;
  case CUPTI_ACTIVITY_KIND_MEMCPY2: counts.peer_on = on; break;
  case CUPTI_ACTIVITY_KIND_MEMSET: counts.memset_on = on; break;
  case CUPTI_ACTIVITY_KIND_OVERHEAD: counts.overhead_on = on; break;
  case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: counts.sync_on = on; break;
  /* As measured on 13.0: the kind sets every call, and single calls change nothing while the kind is off. */
  case CUPTI_ACTIVITY_KIND_RUNTIME:
    counts.runtime_kind = on;
    memset(runtime_call, on, sizeof runtime_call);
    break;
  case CUPTI_ACTIVITY_KIND_DRIVER:
    counts.driver_kind = on;
    memset(driver_call, on, sizeof driver_call);
    break;
  default: counts.whole_kinds++;
  }
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  ENTER("cuptiActivityEnable");
  LEAVE(switch_kind(kind, true));
}
CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  ENTER("cuptiActivityDisable");
  LEAVE(switch_kind(kind, false));
}
CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId cbid, uint8_t enable) {
  ENTER("cuptiActivityEnableRuntimeApi");
  if ((counts.runtime_kind || config.one_by_one) && cbid < 2048) runtime_call[cbid] = enable;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
  ENTER("cuptiActivityEnableDriverApi");
  if ((counts.driver_kind || config.one_by_one) && cbid < 2048) driver_call[cbid] = enable;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(uint8_t enable) {
  ENTER("cuptiActivityEnableAllSyncRecords");
  if (!enable && !counts.sync_on) counts.sync_records_limited++;
  LEAVE(CUPTI_SUCCESS);
}

/* Takes no lock: the real one may be called anywhere, and the decoder does nothing else for most of its time. */
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record) {
  uint8_t *next = buffer;
  CUpti_ActivityKind kind;
  if (__atomic_load_n(&finalizing, __ATOMIC_RELAXED)) __atomic_fetch_add(&counts.overlapping, 1, __ATOMIC_RELAXED);
  if (*record) {
    memcpy(&kind, *record, sizeof kind);
    next = (uint8_t *)*record + bytes_of(kind);
  }
  if (next + sizeof kind > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  memcpy(&kind, next, sizeof kind);
  size_t bytes = bytes_of(kind);
  if (!bytes || next + bytes > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = (CUpti_Activity *)(void *)next;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped) {
  (void)context;
  (void)stream;
  ENTER("cuptiActivityGetNumDroppedRecords");
  *dropped = config.dropped;
  config.dropped = 0;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  ENTER("cuptiActivityFlushAll");
  counts.flushes++;
  counts.forced_flushes += flag != 0;
  counts.flushes_by_subscriber += gettid() == subscriber_tid;
  if (config.empty_flushes && !flag)
    config.empty_flushes--;
  else
    flush(flag != 0);
  LEAVE(CUPTI_SUCCESS);
}
#ifndef FAKE_WITHOUT_FINALIZE
CUptiResult CUPTIAPI cuptiFinalize(void) {
  ENTER("cuptiFinalize");
  __atomic_store_n(&finalizing, true, __ATOMIC_RELAXED);
  for (const fake_buffer *buffer = buffers; buffer; buffer = buffer->next) counts.left_to_finalize += !buffer->kept;
  if (config.slow_finalize) (void)put(CUPTI_ACTIVITY_KIND_RUNTIME, NULL);
  flush(true);
  if (config.slow_finalize) usleep(20000); /* a decoder that looks at it now is caught; one that waits never is */
  for (fake_buffer **at = &buffers; *at;) {
    fake_buffer *buffer = *at;
    buffer->kept = false;
    buffer->full = true;
    if (!buffer->lost) {
      at = &buffer->next;
      continue;
    }
    *at = buffer->next;
    free(buffer);
  }
  counts.finalizes++;
  if (!config.keeps_callbacks) on_request = NULL, on_complete = NULL;
  per_thread_set = zeroed_set = false;
  counts.kernel_on = counts.memcpy_on = counts.peer_on = counts.memset_on = counts.overhead_on = counts.sync_on = false;
  counts.runtime_kind = counts.driver_kind = false;
  memset(runtime_call, 0, sizeof runtime_call);
  memset(driver_call, 0, sizeof driver_call);
  correlation = stuck_id = 0; /* as measured: ids begin anew */
  __atomic_store_n(&finalizing, false, __ATOMIC_RELAXED);
  LEAVE(CUPTI_SUCCESS);
}
#endif
CUptiResult CUPTIAPI cuptiGetCallbackName(CUpti_CallbackDomain domain, uint32_t cbid, const char **name) {
  static const struct {
    uint32_t cbid;
    const char *name;
  } runtime[] = {{3, "cudaGetDevice_v3020"},
                 {20, "cudaMalloc_v3020"},
                 {22, "cudaFree_v3020"},
                 {41, "cudaMemcpyAsync_v3020"},
                 {51, "cudaMemsetAsync_v3020"},
                 {135, "cudaEventRecord_v3020"},
                 {147, "cudaStreamWaitEvent_v3020"},
                 {165, "cudaDeviceSynchronize_v3020"},
                 {211, "cudaLaunchKernel_v7000"},
                 {311, "cudaGraphLaunch_v10000"},
                 {317, "cudaStreamBeginCapture_v10000"},
                 {319, "cudaStreamEndCapture_v10000"},
                 {505, "__cudaLaunchKernel_v13000"}},
    driver[] = {{3, "cuDeviceGet"},          {126, "cuStreamSynchronize"}, {279, "cuMemcpyHtoDAsync_v2"},
                {307, "cuLaunchKernel"},     {514, "cuGraphLaunch"},       {580, "cuStreamBeginCapture_v2"},
                {518, "cuStreamEndCapture"}, {652, "cuLaunchKernelEx"}};
  for (size_t i = 0; domain == CUPTI_CB_DOMAIN_RUNTIME_API && i < sizeof runtime / sizeof runtime[0]; i++)
    if (runtime[i].cbid == cbid) return *name = runtime[i].name, CUPTI_SUCCESS;
  for (size_t i = 0; domain == CUPTI_CB_DOMAIN_DRIVER_API && i < sizeof driver / sizeof driver[0]; i++)
    if (driver[i].cbid == cbid) return *name = driver[i].name, CUPTI_SUCCESS;
  return CUPTI_ERROR_INVALID_PARAMETER;
}
/* Nothing of the product's may call these. */
CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc function) {
  (void)function;
  counts.timestamp_callbacks++;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  (void)kind;
  (void)id;
  counts.external_ids++;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  (void)enable;
  counts.latency++;
  return CUPTI_SUCCESS;
}

/* ---- the tests' side ----------------------------------------------------------------------------------------- */

void fake_reset(void) {
  fake_join();
  pthread_mutex_lock(&lock);
  while (buffers) {
    fake_buffer *next = buffers->next;
    free(buffers);
    buffers = next;
  }
  config = (fake_config){.version = 130001};
  counts = (fake_counts){0};
  running_count = correlation = sessions_on = stuck_id = 0;
  on_request = NULL;
  on_complete = NULL;
  on_state = NULL;
  subscribed = per_thread_set = zeroed_set = false;
  memset(runtime_call, 0, sizeof runtime_call);
  memset(driver_call, 0, sizeof driver_call);
  pthread_mutex_unlock(&lock);
}
fake_config *fake_set(void) { return &config; }
fake_counts fake_get(void) {
  pthread_mutex_lock(&lock);
  fake_counts copy = counts;
  copy.runtime_on = copy.driver_on = 0;
  for (int i = 0; i < 2048; i++) {
    copy.runtime_on += runtime_call[i];
    copy.driver_on += driver_call[i];
  }
  pthread_mutex_unlock(&lock);
  return copy;
}

static uint32_t new_correlation(void) {
  if (stuck_id && pthread_equal(stuck_thread, pthread_self())) return stuck_id;
  if (config.first_correlation) correlation = config.first_correlation;
  config.first_correlation = 0;
  if (!++correlation) ++correlation; /* 0 means none */
  return correlation;
}

static uint32_t call_since(bool driver, uint32_t cbid, uint32_t result, uint32_t id, uint64_t start) {
  if (!id) id = new_correlation();
  if (driver ? !driver_call[cbid] : !runtime_call[cbid]) return id;
  CUpti_ActivityAPI *api = put(driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME, NULL);
  if (!api) return id;
  api->cbid = cbid;
  api->start = start;
  api->end = now();
  api->processId = (uint32_t)getpid();
  api->threadId = (uint32_t)gettid();
  api->correlationId = id;
  api->returnValue = result;
  return id;
}

static uint32_t call(bool driver, uint32_t cbid, uint32_t result, uint32_t id) {
  return call_since(driver, cbid, result, id, now());
}

static void kernel(const char *name, uint32_t id, uint32_t graph, uint32_t node) {
  fake_buffer *buffer;
  if (!counts.kernel_on || running_count == FAKE_KERNEL_SLOTS) return;
  CUpti_ActivityKernel10 *record = put(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, &buffer);
  if (!record) return;
  record->name = name;
  record->correlationId = id;
  record->gridX = 63;
  record->gridY = record->gridZ = record->blockY = record->blockZ = 1;
  record->blockX = 128;
  record->registersPerThread = 16;
  record->streamId = 7;
  record->contextId = 1;
  record->graphId = graph;
  record->graphNodeId = (uint64_t)graph << 32 | node;
  buffer->running++;
  running[running_count].record = record;
  running[running_count++].buffer = buffer;
}

uint32_t fake_call(bool driver, uint32_t cbid, uint32_t result, bool nested_in_last) {
  pthread_mutex_lock(&lock);
  uint32_t id = call(driver, cbid, result, nested_in_last ? correlation : 0);
  pthread_mutex_unlock(&lock);
  return id;
}
uint32_t fake_launch(const char *name) {
  pthread_mutex_lock(&lock);
  uint32_t id = new_correlation();
  kernel(name, id, 0, 0); /* the kernel's place is taken before the call returns */
  call(false, 211, 0, id);
  pthread_mutex_unlock(&lock);
  return id;
}
uint32_t fake_driver_launch(const char *name) {
  pthread_mutex_lock(&lock);
  uint32_t id = new_correlation();
  kernel(name, id, 0, 0);
  call(true, 307, 0, id);
  pthread_mutex_unlock(&lock);
  return id;
}
static uint32_t graph_launch(uint32_t graph, uint32_t nodes, uint32_t shift) {
  pthread_mutex_lock(&lock);
  uint32_t id = new_correlation();
  const uint64_t start = now();
  call(true, 514, 0, id); /* the driver's call is inside the runtime's */
  call_since(false, 311, 0, id, start);
  for (uint32_t i = 0; i < nodes && !(config.graph_silence && sessions_on > 1); i++)
    kernel("_Z4nodev", id + shift, graph, i + 1);
  correlation += shift;
  pthread_mutex_unlock(&lock);
  return id;
}
uint32_t fake_graph_launch(uint32_t graph, uint32_t nodes) { return graph_launch(graph, nodes, 0); }
uint32_t fake_graph_launch_wrong(uint32_t graph, uint32_t nodes) { return graph_launch(graph, nodes, 1); }
uint32_t fake_memcpy(uint64_t bytes) {
  pthread_mutex_lock(&lock);
  const uint64_t start = now();
  uint32_t id = call(true, 279, 0, 0);
  call_since(false, 41, 0, id, start);
  CUpti_ActivityMemcpy6 *record = counts.memcpy_on ? put(CUPTI_ACTIVITY_KIND_MEMCPY, NULL) : NULL;
  if (record) {
    record->start = now();
    record->end = record->start + 10;
    record->bytes = bytes;
    record->srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
    record->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record->correlationId = id;
    record->streamId = 7;
  }
  pthread_mutex_unlock(&lock);
  return id;
}
uint32_t fake_peer_memcpy(uint64_t bytes) {
  pthread_mutex_lock(&lock);
  uint32_t id = call(false, 41, 0, 0);
  CUpti_ActivityMemcpyPtoP4 *record = counts.peer_on ? put(CUPTI_ACTIVITY_KIND_MEMCPY2, NULL) : NULL;
  if (record) {
    record->start = now();
    record->end = record->start + 10;
    record->bytes = bytes;
    record->srcKind = record->dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record->correlationId = id;
  }
  pthread_mutex_unlock(&lock);
  return id;
}
uint32_t fake_memset(uint64_t bytes) {
  pthread_mutex_lock(&lock);
  uint32_t id = call(false, 51, 0, 0);
  CUpti_ActivityMemset4 *record = counts.memset_on && bytes ? put(CUPTI_ACTIVITY_KIND_MEMSET, NULL) : NULL;
  if (record) {
    record->start = now();
    record->end = record->start + 10;
    record->bytes = bytes;
    record->memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
    record->correlationId = id;
  }
  pthread_mutex_unlock(&lock);
  return id;
}
void fake_overhead(void) {
  pthread_mutex_lock(&lock);
  CUpti_ActivityOverhead3 *record = counts.overhead_on ? put(CUPTI_ACTIVITY_KIND_OVERHEAD, NULL) : NULL;
  if (record) {
    record->overheadKind = CUPTI_ACTIVITY_OVERHEAD_COMMAND_BUFFER_FULL;
    record->objectKind = CUPTI_ACTIVITY_OBJECT_THREAD;
    record->objectId.pt.threadId = (uint32_t)gettid();
    record->start = now();
    record->end = record->start + 100;
    record->overheadData = malloc(24);
  }
  pthread_mutex_unlock(&lock);
}
void fake_sync(void) {
  pthread_mutex_lock(&lock);
  CUpti_ActivitySynchronization2 *record = counts.sync_on ? put(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, NULL) : NULL;
  if (record) {
    record->type = CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    record->start = now();
    record->end = record->start + 5;
    record->streamId = 7;
  }
  pthread_mutex_unlock(&lock);
}
static void finish(uint32_t at, uint64_t start, uint64_t end) {
  running[at].record->start = start;
  running[at].record->end = end;
  running[at].buffer->running--;
}
void fake_context_ends(void) {
  pthread_mutex_lock(&lock);
  const CUpti_CallbackFunc function = on_state;
  void *user = state_user;
  pthread_mutex_unlock(&lock);
  if (function) function(user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, NULL);
}
void fake_finish(uint32_t only) {
  pthread_mutex_lock(&lock);
  uint32_t done = only && only < running_count ? only : running_count;
  for (uint32_t i = 0; i < done; i++) {
    uint64_t at = now();
    finish(i, at, at + 50);
  }
  memmove(running, running + done, (running_count - done) * sizeof *running);
  running_count -= done;
  pthread_mutex_unlock(&lock);
}
void fake_finish_at(uint32_t id, uint64_t start, uint64_t end) {
  pthread_mutex_lock(&lock);
  for (uint32_t i = 0; i < running_count; i++) {
    if (running[i].record->correlationId != id) continue;
    finish(i, start, end);
    running[i--] = running[--running_count];
  }
  pthread_mutex_unlock(&lock);
}
void fake_fill(void) {
  pthread_mutex_lock(&lock);
  for (fake_buffer *buffer = buffers; buffer; buffer = buffer->next)
    if (pthread_equal(buffer->owner, pthread_self())) buffer->full = true;
  pthread_mutex_unlock(&lock);
}
void fake_keep(bool for_good) {
  pthread_mutex_lock(&lock);
  for (fake_buffer *buffer = buffers; buffer; buffer = buffer->next)
    if (pthread_equal(buffer->owner, pthread_self()) && !buffer->full) buffer->kept = true, buffer->lost = for_good;
  pthread_mutex_unlock(&lock);
}
void fake_stick(void) {
  pthread_mutex_lock(&lock);
  stuck_id = correlation;
  stuck_thread = pthread_self();
  pthread_mutex_unlock(&lock);
}
uint32_t fake_straggler(const char *name, uint64_t start) {
  pthread_mutex_lock(&lock);
  uint32_t id = new_correlation();
  CUpti_ActivityAPI *call_row = put(CUPTI_ACTIVITY_KIND_RUNTIME, NULL);
  if (call_row)
    *call_row = (CUpti_ActivityAPI){.kind = CUPTI_ACTIVITY_KIND_RUNTIME,
                                    .cbid = 211,
                                    .start = start,
                                    .end = now(),
                                    .threadId = (uint32_t)gettid(),
                                    .correlationId = id};
  CUpti_ActivityKernel10 *kernel_row = put(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, NULL);
  if (kernel_row)
    *kernel_row = (CUpti_ActivityKernel10){.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                           .name = name,
                                           .start = start + 1,
                                           .end = start + 2,
                                           .correlationId = id};
  pthread_mutex_unlock(&lock);
  return id;
}
uint8_t *fake_request(size_t *bytes) {
  pthread_mutex_lock(&lock);
  uint8_t *data = request(bytes);
  pthread_mutex_unlock(&lock);
  return data;
}
uint8_t *fake_request_beside(size_t *bytes) {
  uint8_t *data = NULL;
  size_t records = 0;
  pthread_mutex_lock(&lock);
  const CUpti_BuffersCallbackRequestFunc function = on_request;
  pthread_mutex_unlock(&lock);
  inside = true;
  if (function) function(&data, bytes, &records);
  inside = false;
  return data;
}
void fake_complete(uint8_t *buffer, size_t valid) {
  pthread_mutex_lock(&lock);
  complete(buffer, valid, valid);
  pthread_mutex_unlock(&lock);
}
void fake_fatal(int code) {
  CUpti_StateData data = {.notification = {.result = (CUptiResult)code, .message = "gone"}};
  pthread_mutex_lock(&lock);
  inside = true;
  if (on_state) on_state(state_user, CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &data);
  inside = false;
  pthread_mutex_unlock(&lock);
}
void fake_join(void) {
  for (uint32_t i = 0; i < deliverer_count; i++) pthread_join(deliverers[i], NULL);
  deliverer_count = 0;
}
