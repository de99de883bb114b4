/* See fake_cupti.h. */
#include "fake_state.h"

#include <string.h>

fake_state fake = {.lock = PTHREAD_MUTEX_INITIALIZER, .config = {.version = 130001}};
_Thread_local bool fake_inside;

/* Every entry: breaches first, since the real library would hang. */
static CUptiResult enter(const char *name) {
  if (fake_inside) {
    __atomic_fetch_add(&fake.counts.in_callback, 1, __ATOMIC_RELAXED);
    return CUPTI_ERROR_INVALID_OPERATION;
  }
  if (__atomic_load_n(&fake.finalizing, __ATOMIC_RELAXED))
    __atomic_fetch_add(&fake.counts.overlapping, 1, __ATOMIC_RELAXED);
  pthread_mutex_lock(&fake.lock);
  if (fake.config.fail_function && !strcmp(fake.config.fail_function, name) &&
      !(fake.config.fail_after && fake.config.fail_after--)) {
    pthread_mutex_unlock(&fake.lock);
    return (CUptiResult)fake.config.fail_code;
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
    pthread_mutex_unlock(&fake.lock);                                                                                  \
    return (result);                                                                                                   \
  } while (0)

CUptiResult CUPTIAPI cuptiGetVersion(uint32_t *version) {
  *version = fake.config.version;
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
  *stamp = fake.config.clock_elsewhere ? 12345 : fake_now();
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  ENTER("cuptiSetThreadIdType");
  if (fake.counts.kernel_on) fake.counts.bad_order++;
  fake.counts.thread_id_type = (uint32_t)type;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiActivitySetAttribute(CUpti_ActivityAttribute attribute, size_t *bytes, void *value) {
  ENTER("cuptiActivitySetAttribute");
  if (fake.on_request) fake.counts.bad_order++;
  if (attribute == CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER) {
    if (*bytes != 1 || *(uint8_t *)value != 1) fake.counts.attribute_changed++;
    fake.per_thread_set = true;
  }
  if (attribute == CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER)
    fake.zeroed_set = *bytes == 1 && *(uint8_t *)value == 1;
  LEAVE(CUPTI_SUCCESS);
}

static CUptiResult subscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user) {
  if (fake.config.other_tool || fake.subscribed) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  fake.subscribed = true;
  fake.subscriber_tid = gettid();
  fake.counts.attaches++;
  fake.on_state = callback;
  fake.state_user = user;
  *subscriber = (CUpti_SubscriberHandle)(void *)&fake.subscribed;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user) {
  ENTER("cuptiSubscribe");
  LEAVE(subscribe(subscriber, callback, user));
}
CUptiResult CUPTIAPI cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *user,
                                       CUpti_SubscriberParams *params) {
  ENTER("cuptiSubscribe");
  if (fake.config.other_tool && params->oldSubscriberName && params->oldSubscriberSize)
    strncpy(params->oldSubscriberName, fake.config.other_tool, params->oldSubscriberSize - 1);
  LEAVE(subscribe(subscriber, callback, user));
}
CUptiResult CUPTIAPI cuptiUnsubscribe(CUpti_SubscriberHandle subscriber) {
  (void)subscriber;
  ENTER("cuptiUnsubscribe");
  if (!fake.subscribed) fake.counts.bad_order++;
  fake.subscribed = false;
  fake.on_state = NULL;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                       CUpti_CallbackDomain domain) {
  (void)enable;
  (void)subscriber;
  ENTER("cuptiEnableDomain");
  if (!fake.subscribed || domain != CUPTI_CB_DOMAIN_STATE) fake.counts.bad_order++;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber,
                                         CUpti_CallbackDomain domain, CUpti_CallbackId cbid) {
  (void)enable;
  (void)subscriber;
  ENTER("cuptiEnableCallback");
  if (!fake.subscribed || domain != CUPTI_CB_DOMAIN_RESOURCE || cbid != CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING)
    fake.counts.bad_order++;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                    CUpti_BuffersCallbackCompleteFunc completed) {
  ENTER("cuptiActivityRegisterCallbacks");
  if (!fake.per_thread_set || !fake.subscribed || fake.counts.kernel_on || fake.on_request) fake.counts.bad_order++;
  fake.on_request = requested;
  fake.on_complete = completed;
  LEAVE(CUPTI_SUCCESS);
}

static CUptiResult switch_kind(CUpti_ActivityKind kind, bool on) {
  if (on && !fake.on_request) fake.counts.bad_order++;
  switch ((int)kind) {
  case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    fake.counts.kernel_on = on;
    fake.sessions_on += on;
    break;
  case CUPTI_ACTIVITY_KIND_MEMCPY: fake.counts.memcpy_on = on; break;
  case CUPTI_ACTIVITY_KIND_MEMCPY2: fake.counts.peer_on = on; break;
  case CUPTI_ACTIVITY_KIND_MEMSET: fake.counts.memset_on = on; break;
  case CUPTI_ACTIVITY_KIND_OVERHEAD: fake.counts.overhead_on = on; break;
  case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION: fake.counts.sync_on = on; break;
  /* As measured on 13.0: the kind sets every call, and single calls change nothing while the kind is off. */
  case CUPTI_ACTIVITY_KIND_RUNTIME:
    fake.counts.runtime_kind = on;
    memset(fake.runtime_call, on, sizeof fake.runtime_call);
    break;
  case CUPTI_ACTIVITY_KIND_DRIVER:
    fake.counts.driver_kind = on;
    memset(fake.driver_call, on, sizeof fake.driver_call);
    break;
  default: fake.counts.whole_kinds++;
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
  if ((fake.counts.runtime_kind || fake.config.one_by_one) && cbid < 2048) fake.runtime_call[cbid] = enable;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId cbid, uint8_t enable) {
  ENTER("cuptiActivityEnableDriverApi");
  if ((fake.counts.driver_kind || fake.config.one_by_one) && cbid < 2048) fake.driver_call[cbid] = enable;
  LEAVE(CUPTI_SUCCESS);
}
CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(uint8_t enable) {
  ENTER("cuptiActivityEnableAllSyncRecords");
  if (!enable && !fake.counts.sync_on) fake.counts.sync_records_limited++;
  LEAVE(CUPTI_SUCCESS);
}

/* Takes no lock: the real one may be called anywhere, and the decoder does nothing else for most of its time. */
CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, CUpti_Activity **record) {
  uint8_t *next = buffer;
  CUpti_ActivityKind kind;
  if (__atomic_load_n(&fake.finalizing, __ATOMIC_RELAXED))
    __atomic_fetch_add(&fake.counts.overlapping, 1, __ATOMIC_RELAXED);
  if (*record) {
    memcpy(&kind, *record, sizeof kind);
    next = (uint8_t *)*record + fake_bytes_of(kind);
  }
  if (next + sizeof kind > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  memcpy(&kind, next, sizeof kind);
  size_t bytes = fake_bytes_of(kind);
  if (!bytes || next + bytes > buffer + valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = (CUpti_Activity *)(void *)next;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t stream, size_t *dropped) {
  (void)context;
  (void)stream;
  ENTER("cuptiActivityGetNumDroppedRecords");
  *dropped = fake.config.dropped;
  fake.config.dropped = 0;
  LEAVE(CUPTI_SUCCESS);
}
/* A slow one is slow before it has the lock: a second one is seen, and does not wait. */
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t flag) {
  static uint32_t under_way;
  const bool another = __atomic_fetch_add(&under_way, 1, __ATOMIC_RELAXED) != 0;
  pthread_mutex_lock(&fake.lock);
  fake.counts.flushes_at_a_time += another;
  fake.counts.flushes_begun++;
  const uint32_t slow_ms = fake.config.slow_flush_ms; /* what is set from now on is not for this one */
  pthread_mutex_unlock(&fake.lock);
  if (slow_ms) usleep(slow_ms * 1000);
  __atomic_fetch_sub(&under_way, 1, __ATOMIC_RELAXED);
  ENTER("cuptiActivityFlushAll");
  fake.counts.flushes++;
  fake.counts.forced_flushes += flag != 0;
  fake.counts.flushes_by_subscriber += gettid() == fake.subscriber_tid;
  if (fake.config.empty_flushes && !flag)
    fake.config.empty_flushes--;
  else
    fake_flush(flag != 0);
  LEAVE(CUPTI_SUCCESS);
}
#ifndef FAKE_WITHOUT_FINALIZE
CUptiResult CUPTIAPI cuptiFinalize(void) {
  ENTER("cuptiFinalize");
  __atomic_store_n(&fake.finalizing, true, __ATOMIC_RELAXED);
  for (const fake_buffer *buffer = fake.buffers; buffer; buffer = buffer->next)
    fake.counts.left_to_finalize += !buffer->kept;
  if (fake.config.slow_finalize) (void)fake_put(CUPTI_ACTIVITY_KIND_RUNTIME, NULL);
  fake_flush(true);
  if (fake.config.slow_finalize) usleep(20000); /* a decoder that looks at it now is caught; one that waits never is */
  for (fake_buffer **at = &fake.buffers; *at;) {
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
  fake.counts.finalizes++;
  if (!fake.config.keeps_callbacks) fake.on_request = NULL, fake.on_complete = NULL;
  fake.per_thread_set = fake.zeroed_set = false;
  fake.counts.kernel_on = fake.counts.memcpy_on = fake.counts.peer_on = fake.counts.memset_on =
      fake.counts.overhead_on = fake.counts.sync_on = false;
  fake.counts.runtime_kind = fake.counts.driver_kind = false;
  memset(fake.runtime_call, 0, sizeof fake.runtime_call);
  memset(fake.driver_call, 0, sizeof fake.driver_call);
  fake.correlation = fake.stuck_id = 0; /* as measured: ids begin anew */
  __atomic_store_n(&fake.finalizing, false, __ATOMIC_RELAXED);
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
  fake.counts.timestamp_callbacks++;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  (void)kind;
  (void)id;
  fake.counts.external_ids++;
  return CUPTI_SUCCESS;
}
CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  (void)enable;
  fake.counts.latency++;
  return CUPTI_SUCCESS;
}

/* ---- the tests' side ----------------------------------------------------------------------------------------- */

void fake_reset(void) {
  fake_join();
  pthread_mutex_lock(&fake.lock);
  while (fake.buffers) {
    fake_buffer *next = fake.buffers->next;
    free(fake.buffers);
    fake.buffers = next;
  }
  fake.config = (fake_config){.version = 130001};
  fake.counts = (fake_counts){0};
  fake.running_count = fake.correlation = fake.sessions_on = fake.stuck_id = 0;
  fake.on_request = NULL;
  fake.on_complete = NULL;
  fake.on_state = NULL;
  fake.subscribed = fake.per_thread_set = fake.zeroed_set = false;
  memset(fake.runtime_call, 0, sizeof fake.runtime_call);
  memset(fake.driver_call, 0, sizeof fake.driver_call);
  pthread_mutex_unlock(&fake.lock);
}
fake_config *fake_set(void) { return &fake.config; }
fake_counts fake_get(void) {
  pthread_mutex_lock(&fake.lock);
  fake_counts copy = fake.counts;
  copy.runtime_on = copy.driver_on = 0;
  for (int i = 0; i < 2048; i++) {
    copy.runtime_on += fake.runtime_call[i];
    copy.driver_on += fake.driver_call[i];
  }
  pthread_mutex_unlock(&fake.lock);
  return copy;
}
void fake_context_ends(void) {
  pthread_mutex_lock(&fake.lock);
  const CUpti_CallbackFunc function = fake.on_state;
  void *user = fake.state_user;
  pthread_mutex_unlock(&fake.lock);
  if (function) function(user, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING, NULL);
}
void fake_fatal(int code) {
  CUpti_StateData data = {.notification = {.result = (CUptiResult)code, .message = "gone"}};
  pthread_mutex_lock(&fake.lock);
  fake_inside = true;
  if (fake.on_state) fake.on_state(fake.state_user, CUPTI_CB_DOMAIN_STATE, CUPTI_CBID_STATE_FATAL_ERROR, &data);
  fake_inside = false;
  pthread_mutex_unlock(&fake.lock);
}
