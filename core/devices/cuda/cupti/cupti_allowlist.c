/* The pattern table behind the allow-list. Called by the loop thread at attach. */
#include "cupti_allowlist.h"

#include <pdhost/array.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct pattern {
  const char *prefix;
  pd_api_class api;
  uint32_t sync_only; /* 1: listed only where synchronisation records are wanted */
} pattern;

/* The first prefix that fits decides. What captures, describes or edits work launches none, hence the first rows. */
static const pattern runtime_patterns[] = {
    {"cudaLaunchHostFunc", PD_API_OTHER, 0},
    {"cudaLaunch", PD_API_LAUNCH, 0},
    {"cudaGraphLaunch", PD_API_GRAPH_LAUNCH, 0},
    {"cudaGraphInstantiate", PD_API_OTHER, 0},
    {"cudaMemcpy", PD_API_MEMCPY, 0},
    {"cudaMemset", PD_API_MEMSET, 0},
    {"cudaDeviceSynchronize", PD_API_SYNC, 0},
    {"cudaStreamSynchronize", PD_API_SYNC, 0},
    {"cudaEventSynchronize", PD_API_SYNC, 0},
    {"cudaThreadSynchronize", PD_API_SYNC, 0},
    {"cudaMalloc", PD_API_ALLOC, 0},
    {"cudaHostAlloc", PD_API_ALLOC, 0},
    {"cudaHostRegister", PD_API_ALLOC, 0},
    {"cudaMemPrefetch", PD_API_OTHER, 0},
    {"cudaMemDiscard", PD_API_OTHER, 0},
    {"cudaMemPoolTrimTo", PD_API_FREE, 0},
    {"cudaFree", PD_API_FREE, 0},
    {"cudaHostUnregister", PD_API_FREE, 0},
    {"cudaLibraryLoad", PD_API_OTHER, 0},
    {"cudaStreamBeginCapture", PD_API_OTHER, 0},
    {"cudaStreamEndCapture", PD_API_OTHER, 0},
    {"cudaStreamWaitEvent", PD_API_STREAM_WAIT, 1},
    {"cudaEventRecord", PD_API_OTHER, 1},
};
static const pattern driver_patterns[] = {
    {"cuLaunchHostFunc", PD_API_OTHER, 0},
    {"cuLaunch", PD_API_LAUNCH, 0},
    {"cuGraphLaunch", PD_API_GRAPH_LAUNCH, 0},
    {"cuMemcpy", PD_API_MEMCPY, 0},
    {"cuMemset", PD_API_MEMSET, 0},
    {"cuCtxSynchronize", PD_API_SYNC, 0},
    {"cuStreamSynchronize", PD_API_SYNC, 0},
    {"cuEventSynchronize", PD_API_SYNC, 0},
    {"cuMemAlloc", PD_API_ALLOC, 0},
    {"cuMemHostAlloc", PD_API_ALLOC, 0},
    {"cuMemHostRegister", PD_API_ALLOC, 0},
    {"cuMemAddressReserve", PD_API_ALLOC, 0},
    {"cuMemCreate", PD_API_ALLOC, 0},
    {"cuMemMap", PD_API_ALLOC, 0},
    {"cuMemSetAccess", PD_API_ALLOC, 0},
    {"cuArrayCreate", PD_API_ALLOC, 0},
    {"cuArray3DCreate", PD_API_ALLOC, 0},
    {"cuMipmappedArrayCreate", PD_API_ALLOC, 0},
    {"cuMemPrefetch", PD_API_OTHER, 0},
    {"cuMemDiscard", PD_API_OTHER, 0},
    {"cuMemBatchDecompress", PD_API_OTHER, 0},
    {"cuMemAddressFree", PD_API_FREE, 0},
    {"cuMemRelease", PD_API_FREE, 0},
    {"cuMemUnmap", PD_API_FREE, 0},
    {"cuMemPoolTrimTo", PD_API_FREE, 0},
    {"cuArrayDestroy", PD_API_FREE, 0},
    {"cuMipmappedArrayDestroy", PD_API_FREE, 0},
    {"cuMemFree", PD_API_FREE, 0},
    {"cuMemHostUnregister", PD_API_FREE, 0},
    {"cuModuleLoad", PD_API_OTHER, 0},
    {"cuLibraryLoad", PD_API_OTHER, 0},
    {"cuStreamBeginCapture", PD_API_OTHER, 0},
    {"cuStreamEndCapture", PD_API_OTHER, 0},
    {"cuStreamWaitEvent", PD_API_STREAM_WAIT, 1},
    {"cuEventRecord", PD_API_OTHER, 1},
};

static const char *skip_underscores(const char *name) {
  while (*name == '_') name++;
  return name;
}

bool cupti_allowlist_classify(const char *name, bool driver, bool sync, pd_api_class *api) {
  const pattern *rows = driver ? driver_patterns : runtime_patterns;
  size_t count = driver ? sizeof driver_patterns / sizeof driver_patterns[0]
                        : sizeof runtime_patterns / sizeof runtime_patterns[0];
  name = skip_underscores(name);
  for (size_t i = 0; i < count; i++) {
    if (strncmp(name, rows[i].prefix, strlen(rows[i].prefix)) != 0) continue;
    *api = rows[i].api;
    return sync || !rows[i].sync_only;
  }
  return false;
}

void cupti_allowlist_show(const char *name, char *out, size_t out_bytes) {
  name = skip_underscores(name);
  size_t length = strlen(name), digits = 0;
  while (digits < length && isdigit((unsigned char)name[length - 1 - digits])) digits++;
  if (digits >= 4 && length >= digits + 2 && !strncmp(name + length - digits - 2, "_v", 2)) length -= digits + 2;
  if (length >= out_bytes) length = out_bytes - 1;
  memcpy(out, name, length);
  out[length] = '\0';
}

/* Asks the library for every callback's name. Ids have gaps, so it does not end at the first unknown one. */
static pd_status build_domain(const cupti_api *self, bool driver, bool sync, cupti_call **calls, uint32_t *count,
                              uint32_t *limit, uint16_t *at) {
  CUpti_CallbackDomain domain = driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API;
  uint32_t capacity = 0;
  for (uint32_t cbid = 1; cbid < CUPTI_CBID_LIMIT; cbid++) {
    const char *name = NULL;
    pd_api_class class;
    if (self->GetCallbackName(domain, cbid, &name) != CUPTI_SUCCESS || !name) continue;
    *limit = cbid + 1;
    if (!cupti_allowlist_classify(name, driver, sync, &class)) continue;
    if (!PD_ARRAY_FIT(*calls, capacity, *count + 1)) return PD_NO_MEMORY;
    cupti_call *call = &(*calls)[(*count)++];
    *call = (cupti_call){.cbid = cbid, .api = class};
    call->capture = strstr(name, "StreamBeginCapture") ? 1 : strstr(name, "StreamEndCapture") ? -1 : 0;
    cupti_allowlist_show(name, call->text, sizeof call->text);
    at[cbid] = (uint16_t)*count;
  }
  return PD_OK;
}

pd_status cupti_allowlist_build(cupti_allowlist *self, const cupti_api *api, bool sync) {
  memset(self, 0, sizeof *self);
  pd_status status =
      build_domain(api, false, sync, &self->runtime, &self->runtime_count, &self->runtime_limit, self->runtime_at);
  if (status == PD_OK)
    status = build_domain(api, true, sync, &self->driver, &self->driver_count, &self->driver_limit, self->driver_at);
  if (status != PD_OK) cupti_allowlist_free(self);
  return status;
}

void cupti_allowlist_free(cupti_allowlist *self) {
  free(self->runtime);
  free(self->driver);
  memset(self, 0, sizeof *self);
}

cupti_call *cupti_allowlist_find(cupti_allowlist *self, bool driver, uint32_t cbid) {
  if (cbid >= CUPTI_CBID_LIMIT) return NULL;
  uint16_t at = driver ? self->driver_at[cbid] : self->runtime_at[cbid];
  if (!at) return NULL;
  return driver ? &self->driver[at - 1] : &self->runtime[at - 1];
}
