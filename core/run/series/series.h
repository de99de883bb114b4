/*
 * What a run uses of the machine over its windows, looked at in equal spans by a thread of its own: memory
 * of the process, its processor time, and what NVML knows of the GPU. Each look is a counter of the trace; what is not
 * known has none.
 */
#ifndef CORE_RUN_SERIES_H
#define CORE_RUN_SERIES_H

#include <pdhost/record.h>

#include <stdint.h>

typedef struct series series;

/* Begins to look, while `record` is on. `is_cuda`: also at GPU `device_index`. NULL: there is no thread or no memory
 * for it. [loop thread] */
series *series_begin(const pd_record *record, int64_t every_ms, bool is_cuda, uint32_t device_index);
/* Waits for a look that is under way. NULL may be given. [loop thread] */
void series_end(series *self);

#endif
