/* The data loader: order and content for any number of workers, residents. Ends and memory are loader_ends.c's,
 * what it does ahead and records loader_ahead.c's. */
#include "loader_rig.h"

#include <string.h>

PD_TEST(loader, batches_are_the_same_for_any_number_of_workers) {
  train_rig rig;
  open_rig(&rig);
  const int64_t workers[] = {0, 1, 2, 5};
  for (int i = 0; i < 4; i++) {
    data_config config = config_of(workers[i]);
    expect_epochs(&rig, &config, 10, 0);
    config.prefetch_factor = 1;
    config.persistent_workers = true;
    config.pin_memory = true;
    expect_epochs(&rig, &config, 10, 0);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, the_last_batch_is_short_without_drop_last) {
  train_rig rig;
  open_rig(&rig);
  for (int64_t workers = 0; workers <= 2; workers++) {
    data_config config = config_of(workers);
    config.drop_last = false;
    expect_epochs(&rig, &config, 10, 2);
    config.dataset_size = 3;
    expect_epochs(&rig, &config, 0, 3);
    config.dataset_size = 8;
    expect_epochs(&rig, &config, 2, 0);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, an_epoch_without_a_batch_is_refused) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(1);
  config.dataset_size = 3;
  data_loader *loader = NULL;
  cr_assert_eq(data_loader_open(&rig.host.host, &rig.access, rig.record, &config, &loader), PD_INVALID);
  cr_assert_null(loader);
  cr_assert(strstr(rig.host.message, "[data] batch_size = 4 is more than dataset_size = 3"), "%s", rig.host.message);
  config.dataset_size = (int64_t)1 << 32;
  cr_assert_eq(data_loader_open(&rig.host.host, &rig.access, rig.record, &config, &loader), PD_INVALID);
  cr_assert(strstr(rig.host.message, "dataset_size = 4294967296"), "%s", rig.host.message);
  train_rig_close(&rig);
}

PD_TEST(loader, an_iterator_may_end_early_and_begin_again) {
  train_rig rig;
  open_rig(&rig);
  for (int persistent = 0; persistent <= 1; persistent++) {
    data_config config = config_of(3);
    config.persistent_workers = persistent;
    data_loader *loader = open_loader(&rig, &config);
    const pd_batch *batch;
    cr_assert_eq(data_loader_next(loader, &batch), PD_INVALID);
    for (uint64_t epoch = 1; epoch <= 8; epoch++) {
      train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
      for (uint64_t i = 0; i < epoch - 1; i++) {
        train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
        expect_batch(&config, epoch, i, batch);
      }
      if (epoch % 2) data_loader_iter_end(loader); /* a begin ends what is open */
    }
    data_loader_close(loader);
  }
  train_rig_close(&rig);
}

static void expect_residents(train_rig *rig, data_resident resident, bool pinned) {
  data_config config = config_of(2);
  config.resident = resident;
  config.resident_batches = 3;
  config.pin_memory = pinned;
  data_loader *loader = open_loader(rig, &config);
  const pd_batch *batch;
  const float *images[3];
  for (int epoch = 0; epoch < 2; epoch++) {
    train_rig_ok(rig, data_loader_iter_begin(loader), "iter_begin");
    for (uint64_t i = 0; i < 10; i++) {
      train_rig_ok(rig, data_loader_next(loader, &batch), "next");
      if (epoch == 0 && i < 3) images[i] = batch->images;
      cr_assert_eq(batch->images, images[i % 3]);
      cr_assert_eq(batch->index, i);
      cr_assert_eq(batch->pinned, pinned);
      cr_assert_eq(batch->resident, resident == DATA_RESIDENT_DEVICE ? i % 3 + 1 : 0);
      pd_batch same = *batch;
      same.index = i % 3;
      expect_batch(&config, 0, i % 3, &same);
    }
    cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
    data_loader_iter_end(loader);
  }
  pd_batch kept;
  for (uint64_t i = 0; i < 3; i++) {
    cr_assert_eq(data_loader_resident(loader, i, &kept), resident == DATA_RESIDENT_DEVICE);
    if (resident == DATA_RESIDENT_DEVICE) cr_assert(kept.resident == i + 1 && kept.images == images[i]);
  }
  cr_assert_not(data_loader_resident(loader, 3, &kept));
  cr_assert_eq(data_loader_ready(loader), 0);
  data_loader_close(loader);
}

PD_TEST(loader, residents_are_made_once_and_served_in_turn) {
  train_rig rig;
  open_rig(&rig);
  for (int pinned = 0; pinned <= 1; pinned++) {
    expect_residents(&rig, DATA_RESIDENT_HOST, pinned);
    expect_residents(&rig, DATA_RESIDENT_DEVICE, pinned);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, keys_without_meaning_are_named_once) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(0);
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 0);
  config.prefetch_factor = 4;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 1);
  cr_assert(strstr(logged, "[data] prefetch_factor has no meaning with num_workers = 0"), "%s", logged);
  config.persistent_workers = true;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 2);
  cr_assert(strstr(logged, "persistent_workers and prefetch_factor have no meaning"), "%s", logged);
  config.worker_init_ns = 1;
  data_loader_close(open_loader(&rig, &config));
  cr_assert(strstr(logged, "persistent_workers, prefetch_factor and worker_init_ms have no meaning"), "%s", logged);
  config.num_workers = 1;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 3);
  config.io_spread = 1;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 4);
  cr_assert(strstr(logged, "io_spread has no meaning with io_sleep_ms = 0"), "%s", logged);
  config.io_sleep_ns = 1;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 4);
  train_rig_close(&rig);
}
