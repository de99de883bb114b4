/* See cupti_session.h. No timestamp callback is ever registered: with one, CUPTI 12.6 to 13.0 stamps kernels with 0. */
#include "cupti_session.h"

#include <pdhost/clocks.h>

#include <stdio.h>
#include <string.h>

static const CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                           CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET,
                                           CUPTI_ACTIVITY_KIND_OVERHEAD};
enum { KIND_COUNT = sizeof kinds / sizeof kinds[0] };

static pd_status failed(const cupti_session *self, const char *call, CUptiResult result, char *why, size_t why_bytes) {
  snprintf(why, why_bytes, "%s: %s", call, cupti_api_explain(self->api, result));
  return PD_DEVICE;
}

/* Runs inside the library, on any thread: of its own state it may only take note. */
static void CUPTIAPI on_state(void *user, CUpti_CallbackDomain domain, CUpti_CallbackId cbid, const void *data_) {
  cupti_session *session = user;
  const CUpti_StateData *data = data_;
  if (domain == CUPTI_CB_DOMAIN_STATE && cbid == CUPTI_CBID_STATE_FATAL_ERROR)
    atomic_store(&session->failed, data ? (int32_t)data->notification.result : (int32_t)CUPTI_ERROR_UNKNOWN);
  if (domain == CUPTI_CB_DOMAIN_RESOURCE && cbid == CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING && session->leaving)
    session->leaving();
}

/* Every time below is taken to be CLOCK_REALTIME; a library that counts otherwise cannot share a timeline with us. */
bool cupti_session_shares_clock(const cupti_api *self) {
  for (int i = 0; i < 16; i++) { /* more than once, since the clock may be set just now */
    uint64_t stamp = 0;
    int64_t before = pd_clock_ns(CLOCK_REALTIME);
    if (self->GetTimestamp(&stamp) != CUPTI_SUCCESS) return false;
    if ((int64_t)stamp >= before && (int64_t)stamp <= pd_clock_ns(CLOCK_REALTIME)) return true;
  }
  return false;
}

static CUptiResult set_flag(const cupti_api *self, CUpti_ActivityAttribute attribute, uint8_t value) {
  size_t bytes = sizeof value;
  CUptiResult result = self->ActivitySetAttribute(attribute, &bytes, &value);
  /* An older library may not know it; it then works as it did before the attribute existed. */
  return result == CUPTI_ERROR_INVALID_PARAMETER ? CUPTI_SUCCESS : result;
}

static pd_status subscribe(cupti_session *self, char *why, size_t why_bytes) {
  char other[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1] = "";
  CUptiResult result;
  if (self->api->Subscribe_v2) {
    CUpti_SubscriberParams params = {.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                     .subscriberName = "pdhost",
                                     .oldSubscriberName = other,
                                     .oldSubscriberSize = sizeof other};
    result = self->api->Subscribe_v2(&self->subscriber, on_state, self, &params);
  } else {
    result = self->api->Subscribe(&self->subscriber, on_state, self);
  }
  other[sizeof other - 1] = '\0';
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED && other[0]) {
    snprintf(why, why_bytes, "CUPTI is in use by \"%s\" (39); run without it to see device records here", other);
    return PD_DEVICE;
  }
  if (result != CUPTI_SUCCESS) return failed(self, "cuptiSubscribe", result, why, why_bytes);
  self->subscribed = true;
  return PD_OK;
}

pd_status cupti_session_attach(cupti_session *self, CUpti_BuffersCallbackRequestFunc request,
                               CUpti_BuffersCallbackCompleteFunc complete, char *why, size_t why_bytes) {
  const cupti_api *api = self->api;
  CUptiResult result;
  atomic_store(&self->failed, 0);
  if (!self->early && !cupti_session_shares_clock(api)) {
    snprintf(why, why_bytes, "CUPTI's clock is not CLOCK_REALTIME, so its records cannot be placed");
    return PD_DEVICE;
  }
  if ((result = api->SetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM)) != CUPTI_SUCCESS && !self->early)
    return failed(self, "cuptiSetThreadIdType", result, why, why_bytes);
  result = set_flag(api, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER, 1);
  if (result == CUPTI_SUCCESS) result = set_flag(api, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 1);
  if (result != CUPTI_SUCCESS && !self->early) return failed(self, "cuptiActivitySetAttribute", result, why, why_bytes);
  pd_status status = subscribe(self, why, why_bytes);
  if (status != PD_OK) return status;
  result = api->EnableDomain(1, self->subscriber, CUPTI_CB_DOMAIN_STATE);
  if (result != CUPTI_SUCCESS && !self->early) {
    status = failed(self, "cuptiEnableDomain", result, why, why_bytes);
    goto out;
  }
  if (self->leaving)
    (void)api->EnableCallback(
        1, self->subscriber, CUPTI_CB_DOMAIN_RESOURCE,
        CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING); /* without it the tail is shorter, no more */
  if ((result = api->ActivityRegisterCallbacks(request, complete)) != CUPTI_SUCCESS) {
    status = failed(self, "cuptiActivityRegisterCallbacks", result, why, why_bytes);
    goto out;
  }
  self->attached = true;
out:
  if (status != PD_OK) {
    (void)api->Unsubscribe(self->subscriber);
    self->subscribed = false;
  }
  return status;
}

/* The whole kind first, since it overrides what was said of single calls; then all that is not listed off. A call made
 * in between by another thread is let go by the decoder. Ids with no name are skipped by the library with an error. */
static CUptiResult enable_calls(const cupti_session *self, bool driver) {
  const cupti_allowlist *calls = self->calls;
  CUptiResult result = self->api->ActivityEnable(driver ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME);
  uint32_t limit = driver ? calls->driver_limit : calls->runtime_limit;
  const uint16_t *at = driver ? calls->driver_at : calls->runtime_at;
  for (uint32_t cbid = 1; cbid < limit && result == CUPTI_SUCCESS; cbid++)
    if (!at[cbid])
      (void)(driver ? self->api->ActivityEnableDriverApi(cbid, 0) : self->api->ActivityEnableRuntimeApi(cbid, 0));
  return result;
}

static CUptiResult enable_one_by_one(const cupti_session *self, bool driver) {
  const cupti_allowlist *calls = self->calls;
  const uint32_t count = driver ? calls->driver_count : calls->runtime_count;
  const cupti_call *rows = driver ? calls->driver : calls->runtime;
  CUptiResult result = CUPTI_SUCCESS;
  for (uint32_t i = 0; i < count && result == CUPTI_SUCCESS; i++)
    result = driver ? self->api->ActivityEnableDriverApi(rows[i].cbid, 1)
                    : self->api->ActivityEnableRuntimeApi(rows[i].cbid, 1);
  return result;
}

static CUptiResult enable_lists(const cupti_session *self) {
  if (self->early && enable_one_by_one(self, false) == CUPTI_SUCCESS && enable_one_by_one(self, true) == CUPTI_SUCCESS)
    return CUPTI_SUCCESS;
  const CUptiResult result = enable_calls(self, false);
  return result == CUPTI_SUCCESS ? enable_calls(self, true) : result;
}

void cupti_session_list_again(cupti_session *self) {
  self->early = false;
  if (self->enabled) (void)enable_lists(self);
}

pd_status cupti_session_enable(cupti_session *self, char *why, size_t why_bytes) {
  const cupti_api *api = self->api;
  CUptiResult result;
  if (self->enabled) return PD_OK;
  self->enabled = true; /* also in part: what was switched on is switched off again */
  if (self->sync) {
    /* Without this every query of an event that is not done yet leaves a record. */
    if (api->ActivityEnableAllSyncRecords && (result = api->ActivityEnableAllSyncRecords(0)) != CUPTI_SUCCESS) {
      failed(self, "cuptiActivityEnableAllSyncRecords", result, why, why_bytes);
      goto undo;
    }
    if ((result = api->ActivityEnable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION)) != CUPTI_SUCCESS) {
      failed(self, "cuptiActivityEnable", result, why, why_bytes);
      goto undo;
    }
  }
  for (int i = 0; i < KIND_COUNT; i++) {
    if ((result = api->ActivityEnable(kinds[i])) == CUPTI_SUCCESS) continue;
    failed(self, "cuptiActivityEnable", result, why, why_bytes);
    goto undo;
  }
  if ((result = enable_lists(self)) != CUPTI_SUCCESS) {
    failed(self, "cuptiActivityEnable", result, why, why_bytes);
    goto undo;
  }
  return PD_OK;
undo:
  cupti_session_disable(self);
  return PD_DEVICE;
}

static void disable_one_by_one(const cupti_session *self) {
  const cupti_allowlist *calls = self->calls;
  for (uint32_t i = 0; i < calls->driver_count; i++) (void)self->api->ActivityEnableDriverApi(calls->driver[i].cbid, 0);
  for (uint32_t i = 0; i < calls->runtime_count; i++)
    (void)self->api->ActivityEnableRuntimeApi(calls->runtime[i].cbid, 0);
}

void cupti_session_disable(cupti_session *self) {
  if (!self->enabled) return;
  if (self->early) disable_one_by_one(self);
  (void)self->api->ActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER);
  (void)self->api->ActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME);
  for (int i = KIND_COUNT; i > 0; i--) (void)self->api->ActivityDisable(kinds[i - 1]);
  if (self->sync) (void)self->api->ActivityDisable(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
  self->enabled = false;
}

void cupti_session_unsubscribe(cupti_session *self) {
  if (!self->subscribed) return;
  (void)set_flag(self->api, CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 0);
  (void)self->api->Unsubscribe(self->subscriber);
  self->subscribed = self->attached = false;
}

void cupti_session_detach(cupti_session *self) {
  if (!self->subscribed) return;
  (void)self->api->Unsubscribe(self->subscriber);
  (void)self->api->Finalize();
  self->subscribed = self->attached = self->enabled = false;
}
