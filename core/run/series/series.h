/*
 * What a run uses of the machine over its windows, looked at in equal spans by a thread of its own: memory of the
 * process and of the loader's batches, processor time of the process and of its threads, the processors' power, and
 * what NVML knows of the GPU. Each look is a counter of the trace, by a name of facts/series_names.h; what is not known
 * has none. What is a mean since the look before begins with the second look of a window.
 */
#ifndef CORE_RUN_SERIES_H
#define CORE_RUN_SERIES_H

#include <pdhost/record.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct series series;

typedef struct series_wish {
  int64_t every_ms;
  uint64_t loader_bytes; /* memory of the loader's batches; 0: there are none */
  const char *powercap;  /* the folder of the processors' energy counters; NULL: none */
  bool is_cuda;          /* also look at GPU `device_index` */
  uint32_t device_index;
} series_wish;

/* Begins to look, while `record` is on. Says in one warning which series of a GPU there cannot be. NULL: there is no
 * thread or no memory for it. [loop thread] */
series *series_begin(const pd_record *record, const series_wish *wish);
/* Waits for a look that is under way. NULL may be given. [loop thread] */
void series_end(series *self);

#endif
