/*
 * libcupti as a table of function pointers: opened by name, never linked, never closed once it is accepted.
 *
 * Nothing here is called before profiling is wanted. The library stays loaded for good, since it may call back until
 * the process ends.
 */
#ifndef DEVICES_CUDA_CUPTI_API_H
#define DEVICES_CUDA_CUPTI_API_H

#include <pdhost/plugin.h>

#include <cupti.h>

/* Below this, switching kernels off beside the program's own calls may never return (release notes of CUPTI 13.0 Update
 * 1), and 12.9 lays kernels out in fewer bytes. */
#define CUPTI_OLDEST_VERSION 130001u /* CUDA 13.0 Update 1 */

/* X(name): cupti##name must be there. */
#define CUPTI_REQUIRED_MAP(X)                                                                                          \
  X(GetVersion)                                                                                                        \
  X(GetResultString)                                                                                                   \
  X(GetTimestamp)                                                                                                      \
  X(SetThreadIdType)                                                                                                   \
  X(GetCallbackName)                                                                                                   \
  X(Subscribe)                                                                                                         \
  X(Unsubscribe)                                                                                                       \
  X(EnableDomain)                                                                                                      \
  X(EnableCallback)                                                                                                    \
  X(ActivitySetAttribute)                                                                                              \
  X(ActivityRegisterCallbacks)                                                                                         \
  X(ActivityEnable)                                                                                                    \
  X(ActivityDisable)                                                                                                   \
  X(ActivityEnableRuntimeApi)                                                                                          \
  X(ActivityEnableDriverApi)                                                                                           \
  X(ActivityGetNextRecord)                                                                                             \
  X(ActivityGetNumDroppedRecords)                                                                                      \
  X(ActivityFlushAll)                                                                                                  \
  X(Finalize)

/* X(name): NULL where the library has no such function. */
#define CUPTI_OPTIONAL_MAP(X)                                                                                          \
  X(Subscribe_v2)                                                                                                      \
  X(ActivityEnableAllSyncRecords)

typedef struct cupti_api {
  void *library;
  uint32_t version; /* as CUPTI numbers itself */
  uint32_t reserved;
#define X(name) __typeof__(&cupti##name) name;
  CUPTI_REQUIRED_MAP(X)
  CUPTI_OPTIONAL_MAP(X)
#undef X
} cupti_api;

/* Opens `path`, or where it is NULL or "" the first that will do in the usual places: its version and record layout are
 * checked. PD_UNSUPPORTED: `why` names each file that was found and what is wrong with it, or what was tried, and
 * what to do is the caller's to say; the table is zero and no library stays open. */
pd_status cupti_api_load(cupti_api *self, const char *path, char *why, size_t why_bytes);

/* What a failed call means and what to do, as one clause. */
const char *cupti_api_explain(const cupti_api *self, CUptiResult result);

#endif
