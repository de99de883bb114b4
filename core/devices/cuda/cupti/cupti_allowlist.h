/*
 * Which runtime and driver calls are recorded, and what each of them does, by the names the library gives its callback
 * ids: a newer CUPTI's variants are found without a change here.
 */
#ifndef DEVICES_CUDA_CUPTI_ALLOWLIST_H
#define DEVICES_CUDA_CUPTI_ALLOWLIST_H

#include "cupti_api.h"

#include <pdhost/record.h>

enum { CUPTI_CBID_LIMIT = 4096, CUPTI_CALL_NAME_BYTES = 96 };

/* What one listed call is. */
typedef struct cupti_call {
  uint32_t cbid;
  pd_api_class api;
  uint32_t name;                    /* string id; 0 until first met */
  int32_t capture;                  /* +1: a stream's capture begins, -1: it ends */
  char text[CUPTI_CALL_NAME_BYTES]; /* as the outputs show it */
} cupti_call;

typedef struct cupti_allowlist {
  cupti_call *runtime, *driver;
  uint32_t runtime_count, driver_count;
  uint32_t runtime_limit, driver_limit;                               /* the library's newest id + 1 */
  uint16_t runtime_at[CUPTI_CBID_LIMIT], driver_at[CUPTI_CBID_LIMIT]; /* index + 1 by cbid; 0: not listed */
} cupti_allowlist;

/* What a call of that name does. `driver`: of the driver's interface. Returns false where it is not listed. `sync`:
 * events and waits of streams are wanted too. */
bool cupti_allowlist_classify(const char *name, bool driver, bool sync, pd_api_class *api);

/* The name as shown: "__cudaLaunchKernel_v13000" is "cudaLaunchKernel". */
void cupti_allowlist_show(const char *name, char *out, size_t out_bytes);

pd_status cupti_allowlist_build(cupti_allowlist *self, const cupti_api *api, bool sync);
void cupti_allowlist_free(cupti_allowlist *self);

/* NULL where the call is not listed. */
cupti_call *cupti_allowlist_find(cupti_allowlist *self, bool driver, uint32_t cbid);

#endif
