/*
 * The loader's threads and the ring of batches between them and the loop.
 *
 * Worker w of W makes batches w, w+W, w+2W, ... as torch's do; at most W * prefetch_factor batches are ahead of the
 * loop, so batch i always lies in buffer i modulo (W * prefetch_factor + 1): the one more is the batch the loop holds.
 */
#ifndef CORE_DATA_WORKERS_H
#define CORE_DATA_WORKERS_H

#include "batch_buffer.h"
#include "dataset.h"

typedef struct workers workers;

/* One epoch's work. `order` lives until workers_end. */
typedef struct epoch_plan {
  uint64_t epoch;
  const uint32_t *order; /* (samples) */
  uint64_t samples, batches;
} epoch_plan;

/* Makes batch `index` of the plan into `buffer`; returns its count. `pause` sleeps before a sample for io_sleep, less
 * what the sleep before was too long, and returns false to leave the batch unfinished. [loop or loader thread] */
typedef bool (*batch_pause)(void *state, int64_t sleep_ns);
int64_t batch_make(const dataset *set, const data_config *config, const epoch_plan *plan, uint64_t index,
                   batch_buffer *buffer, batch_pause pause, void *state);

pd_status workers_open(const pd_host *host, const pd_device_access *device, const pd_record *record,
                       const data_config *config, const dataset *set, workers **out);
void workers_close(workers *self);

/* [loop thread] */
pd_status workers_begin(workers *self, const epoch_plan *plan);
void workers_end(workers *self);

/* data_loader_inject; while no iterator runs. [loop thread] */
void workers_inject(workers *self, bool inject);
/* Each batch takes this much longer to make; while no iterator runs. [loop thread] */
void workers_delay(workers *self, int64_t ns);

/* Waits for the next batch; its buffer stays the loop's until workers_give_back(). PD_STOP after workers_stop().
 * [loop thread] */
pd_status workers_take(workers *self, batch_buffer **buffer, int64_t *count);
/* What workers_take() would hand out without waiting; the buffer is not written again before it is taken and given
 * back. [loop thread] */
bool workers_peek(workers *self, batch_buffer **buffer, int64_t *count);
pd_status workers_give_back(workers *self, batch_buffer *buffer);

/* Ends a wait in workers_take(). Async-signal-safe. [any thread] */
void workers_stop(workers *self);
/* Memory of all of its batches. [any thread] */
uint64_t workers_bytes(const workers *self);
/* Batches made and not taken. [any thread] */
uint32_t workers_ready(const workers *self);

#endif
