/*
 * What one of CUPTI's records says, as a pd_activity: nothing is looked up, checked or kept here. Names are the
 * caller's to intern, and correlation ids the caller's to widen. [any thread]
 */
#ifndef DEVICES_CUDA_CUPTI_ROWS_H
#define DEVICES_CUDA_CUPTI_ROWS_H

#include <pdhost/record.h>

#include <cupti.h>

pd_activity cupti_row_kernel(const CUpti_ActivityKernel10 *kernel, uint64_t correlation, uint32_t name);
pd_activity cupti_row_memcpy(const CUpti_ActivityMemcpy6 *copy, uint64_t correlation);
pd_activity cupti_row_peer_memcpy(const CUpti_ActivityMemcpyPtoP4 *copy, uint64_t correlation);
pd_activity cupti_row_memset(const CUpti_ActivityMemset4 *set, uint64_t correlation);
/* The record does not say which device: `device` does. */
pd_activity cupti_row_sync(const CUpti_ActivitySynchronization2 *sync, uint64_t correlation, uint32_t device);
/* `overheadData` stays the caller's to free. */
pd_activity cupti_row_overhead(const CUpti_ActivityOverhead3 *overhead, uint64_t correlation);

/* "Stream Sync" */
const char *cupti_row_sync_text(CUpti_ActivitySynchronizationType type);
/* Which of its kinds an overhead is, below CUPTI_ROW_OVERHEADS, and its name. */
enum { CUPTI_ROW_OVERHEADS = 10 };
uint32_t cupti_row_overhead_number(const CUpti_ActivityOverhead3 *overhead);
const char *cupti_row_overhead_text(uint32_t number);

/* Whether something can have had these times: after 1970, before 2116, and not backwards. */
bool cupti_row_can_be(int64_t start_ns, int64_t end_ns);

#endif
