/* The data loader: batches of the slow synthetic dataset, in order, made by worker threads or by the caller. */
#ifndef CORE_DATA_LOADER_H
#define CORE_DATA_LOADER_H

#include <pdhost/device.h>
#include <pdhost/record.h>
#include <pdhost/scenario.h>

typedef struct data_loader data_loader;

typedef enum data_resident { DATA_RESIDENT_NONE = 0, DATA_RESIDENT_HOST = 1, DATA_RESIDENT_DEVICE = 2 } data_resident;

/* [data] of the configuration. */
typedef struct data_config {
  int64_t batch_size, image_size, dataset_size;
  int64_t num_workers, prefetch_factor;
  bool persistent_workers, pin_memory, drop_last;
  bool prefetch_to_device; /* the loop offers the training kit the batch after the current one */
  int64_t cpu_work;
  int64_t io_sleep_ns, cpu_ns; /* per sample */
  double io_spread;            /* of io_sleep from sample to sample: sigma of a log-normal with mean 1 */
  int64_t worker_init_ns;      /* what a worker does before its first batch, as torch's worker_init_fn */
  data_resident resident;      /* HOST, DEVICE: `resident_batches` are made before the loop and served in turn */
  int64_t resident_batches;
  uint64_t seed;
  bool control;         /* no work and no sleep: see data_loader_inject */
  int64_t delay_ns;     /* of each batch: see data_loader_delay */
  uint32_t rank, ranks; /* of `ranks` that share every epoch, which takes part of each batch; ranks 0: this one alone */
} data_config;

/* `device` gives page-locked memory for pin_memory. The message of a failure goes through host->fail. [loop thread] */
pd_status data_loader_open(const pd_host *host, const pd_device_access *device, const pd_record *record,
                           const data_config *config, data_loader **out);
/* Ends the iterator, joins all workers. */
void data_loader_close(data_loader *self);

/* A new iterator over a fresh permutation (epoch + 1): starts workers unless persistent ones wait. [loop thread] */
pd_status data_loader_iter_begin(data_loader *self);
void data_loader_iter_end(data_loader *self);

/* The next batch, in order; waits for it and records the wait as enumerate(DataLoader)#_pdhost.__next__. The batch of
 * the call before is given back. PD_STOP: the epoch is over. A stop request ends the wait early with PD_STOP.
 * [loop thread] */
pd_status data_loader_next(data_loader *self, const pd_batch **out);

/* The batch that data_loader_next() will hand out, if it has been made already; its memory stays as it is until that
 * batch's own turn is over. False: it is not there, or there is none. Never waits. [loop thread] */
bool data_loader_peek(const data_loader *self, pd_batch *out);

/* Batch `index` of the set that is resident on the device, for the training kit to copy before the first step; false:
 * there is none by that index. Its memory is the loader's until close. [loop thread] */
bool data_loader_resident(const data_loader *self, uint64_t index, pd_batch *out);

/* Whether the batches of the iterators to come cost cpu_work, cpu_us and io_sleep. Between iterators. [loop thread] */
void data_loader_inject(data_loader *self, bool inject);
/* Whether io_sleep or cpu_us are asked for, and batches are made in the loop's time. */
bool data_loader_is_dialled(const data_loader *self);
/* Nanoseconds that io_sleep and cpu_us of the current batch were asked to take, and did; 0: it was made before the
 * loop. [loop thread] */
void data_loader_dialled(const data_loader *self, int64_t *asked_ns, int64_t *measured_ns);
/* From the next iterator on each batch comes `ns` later, whatever it costs: those who make batches sleep that long for
 * each batch that they make beside one another. False: batches are made once, before the loop. Between iterators.
 * [loop thread] */
bool data_loader_delay(data_loader *self, int64_t ns);
/* By how many nanoseconds the batches handed out since then came later, as measured, on average. [loop thread] */
double data_loader_delayed(const data_loader *self);
/* Batches that may be ready ahead of the loop. */
uint64_t data_loader_ahead(const data_loader *self);

/* Host memory of all batches that it has room for. [loop thread] */
uint64_t data_loader_bytes(const data_loader *self);

/* Makes a waiting data_loader_next return PD_STOP soon. Async-signal-safe. [any thread] */
void data_loader_stop(data_loader *self);

/* Batches ready and not yet taken. [any thread] */
uint32_t data_loader_ready(const data_loader *self);

#endif
