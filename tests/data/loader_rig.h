/* Suites of the data loader: a loader of small images, and its batches as the data set and the sampler define them. */
#ifndef TESTS_DATA_LOADER_RIG_H
#define TESTS_DATA_LOADER_RIG_H

#include "pd_test.h"
#include "train_rig.h"

#include "data/dataset.h"
#include "data/loader.h"
#include "data/sampler.h"

enum { SIZE = 5, PIXELS = 3 * SIZE * SIZE };

static char logged[2048];
static int log_count;
PD_PRINTF(3, 4) static inline void keep_log(const pd_host *host, pd_log_level level, const char *format, ...) {
  (void)host;
  cr_assert_eq(level, PD_LOG_WARN);
  va_list args;
  va_start(args, format);
  vsnprintf(logged, sizeof logged, format, args);
  va_end(args);
  log_count++;
}

static inline void open_rig(train_rig *rig) {
  train_rig_open(rig);
  rig->host.host.log = keep_log;
  log_count = 0;
}

static inline data_config config_of(int64_t workers) {
  return (data_config){.batch_size = 4,
                       .image_size = SIZE,
                       .dataset_size = 42,
                       .num_workers = workers,
                       .prefetch_factor = 2,
                       .drop_last = true,
                       .cpu_work = 3,
                       .seed = 11};
}

static inline data_loader *open_loader(train_rig *rig, const data_config *config) {
  data_loader *loader = NULL;
  train_rig_ok(rig, data_loader_open(&rig->host.host, &rig->access, rig->record, config, &loader), "data_loader_open");
  return loader;
}

/* Batch `index` of an epoch as the dataset and the sampler define it. */
static inline void expect_batch(const data_config *config, uint64_t epoch, uint64_t index, const pd_batch *batch) {
  uint32_t order[64];
  float image[PIXELS];
  int64_t label;
  const dataset set = {.seed = config->seed, .image_size = config->image_size, .cpu_work = config->cpu_work};
  sampler_shuffle(order, (uint32_t)config->dataset_size, config->seed, epoch);
  cr_assert(batch->index == index && batch->channels == 3 && batch->height == SIZE && batch->width == SIZE);
  for (int64_t i = 0; i < batch->count; i++) {
    dataset_sample(&set, epoch, order[(int64_t)index * config->batch_size + i], image, &label);
    cr_assert(train_rig_same(image, batch->images + i * PIXELS, sizeof image), "batch %lu sample %ld", index, i);
    cr_assert_eq(label, batch->labels[i]);
  }
}

/* Two epochs, every batch checked. */
static inline void expect_epochs(train_rig *rig, const data_config *config, uint64_t full, int64_t last_count) {
  data_loader *loader = open_loader(rig, config);
  const pd_batch *batch;
  for (uint64_t epoch = 1; epoch <= 2; epoch++) {
    train_rig_ok(rig, data_loader_iter_begin(loader), "iter_begin");
    for (uint64_t i = 0; i < full + (last_count != 0); i++) {
      train_rig_ok(rig, data_loader_next(loader, &batch), "next");
      cr_assert_eq(batch->count, i < full ? config->batch_size : last_count);
      cr_assert_eq(batch->pinned, config->pin_memory);
      cr_assert_eq(batch->resident, 0);
      expect_batch(config, epoch, i, batch);
    }
    cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
    cr_assert_null(batch);
    data_loader_iter_end(loader);
  }
  data_loader_close(loader);
}

#endif
