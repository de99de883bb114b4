/* The data loader: the batch after the current one, and what it records. */
#include "loader_rig.h"

#include <sched.h>
#include <string.h>

/* ---- the batch after the current one ---- */

/* Waits for a worker to make the next batch. */
static void expect_peek(data_loader *loader, const data_config *config, uint64_t index) {
  pd_batch next;
  while (!data_loader_peek(loader, &next)) sched_yield();
  expect_batch(config, 1, index, &next);
  cr_assert_eq(next.count, config->batch_size);
  cr_assert_eq(next.pinned, config->pin_memory);
}

PD_TEST(loader, the_next_batch_is_seen_before_its_turn) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(2);
  config.pin_memory = true;
  data_loader *loader = open_loader(&rig, &config);
  const pd_batch *batch;
  pd_batch next;
  cr_assert_not(data_loader_peek(loader, &next)); /* no iterator */
  train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
  expect_peek(loader, &config, 0);
  for (uint64_t i = 0; i < 10; i++) {
    train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
    expect_batch(&config, 1, i, batch);
    if (i == 9) break;
    expect_peek(loader, &config, i + 1);
    expect_batch(&config, 1, i, batch); /* the current one is as it was */
  }
  cr_assert_not(data_loader_peek(loader, &next)); /* the epoch is over */
  data_loader_close(loader);
  train_rig_close(&rig);
}

PD_TEST(loader, without_workers_only_resident_batches_are_known_ahead) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(0);
  const pd_batch *batch;
  pd_batch next;
  data_loader *loader = open_loader(&rig, &config);
  train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
  train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
  cr_assert_not(data_loader_peek(loader, &next));
  data_loader_close(loader);
  config.resident_batches = 3;
  for (data_resident where = DATA_RESIDENT_HOST; where <= DATA_RESIDENT_DEVICE; where++) {
    config.resident = where;
    loader = open_loader(&rig, &config);
    train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
    for (uint64_t i = 0; i < 7; i++) {
      cr_assert(data_loader_peek(loader, &next));
      train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
      cr_assert(next.index == batch->index && next.images == batch->images && next.resident == batch->resident);
    }
    data_loader_close(loader);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, a_copy_ahead_that_cannot_be_is_told) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(0);
  config.pin_memory = config.prefetch_to_device = true;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 1);
  cr_assert(strstr(logged, "prefetch_to_device has no meaning with num_workers = 0"), "%s", logged);
  config.num_workers = 2;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 1);
  config.resident = DATA_RESIDENT_DEVICE;
  data_loader_close(open_loader(&rig, &config));
  cr_assert_eq(log_count, 2);
  cr_assert(strstr(logged, "prefetch_to_device has no meaning with resident = device"), "%s", logged);
  train_rig_close(&rig);
}

/* ---- what it records ---- */

PD_TEST(loader, persistent_workers_start_once) {
  train_rig rig;
  open_rig(&rig);
  for (int persistent = 0; persistent <= 1; persistent++) {
    data_config config = config_of(2);
    config.worker_init_ns = 1000000;
    config.persistent_workers = persistent;
    data_loader *loader = open_loader(&rig, &config);
    const pd_batch *batch;
    train_rig_trace_begin(&rig);
    train_rig_step_begin(&rig);
    for (int epoch = 0; epoch < 3; epoch++) {
      train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
      for (int i = 0; i < 2; i++) train_rig_ok(&rig, data_loader_next(loader, &batch), "next"); /* one of each */
      data_loader_iter_end(loader);
    }
    train_rig_step_end(&rig);
    pd_trace *trace = train_rig_trace_end(&rig);
    cr_assert_eq(trace_ranges(trace, "DataLoader worker: init"), persistent ? 2 : 6);
    trace_free(trace);
    data_loader_close(loader);
  }
  train_rig_close(&rig);
}

PD_TEST(loader, waits_workers_and_queue_are_in_the_trace) {
  train_rig rig;
  open_rig(&rig);
  data_config config = config_of(2);
  data_loader *loader = open_loader(&rig, &config);
  const pd_batch *batch;
  train_rig_trace_begin(&rig);
  train_rig_step_begin(&rig);
  train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
  for (int i = 0; i < 10; i++) train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
  cr_assert_eq(data_loader_next(loader, &batch), PD_STOP);
  data_loader_iter_end(loader);
  train_rig_step_end(&rig);
  pd_trace *trace = train_rig_trace_end(&rig);
  const char *const wait = "enumerate(DataLoader)#_pdhost.__next__", *const work = "DataLoader worker: batch";
  cr_assert_eq(trace_ranges(trace, wait), 10);
  cr_assert_eq(trace_ranges(trace, work), 10);
  for (uint64_t i = 0; i < 10; i++) {
    const pd_range *range = trace_range(trace, wait, i);
    cr_assert(range->kind == PD_RANGE_DATALOADER && range->part == PD_PART_DATALOADER && range->thread == 0);
    range = trace_range(trace, work, i);
    cr_assert_eq(range->kind, PD_RANGE_WORKER);
    const char *name = pd_trace_string(trace, PD_AT(pd_thread, &trace->threads, range->thread)->name)->text;
    cr_assert(!strcmp(name, "pdhost loader 0") || !strcmp(name, "pdhost loader 1"), "%s", name);
  }
  cr_assert_eq(trace->counters.count, 20); /* one when a batch is made, one when it is taken */
  for (uint64_t i = 0; i < 20; i++) {
    const pd_counter_row *row = PD_AT(pd_counter_row, &trace->counters, i);
    cr_assert_str_eq(pd_trace_string(trace, row->name)->text, "DataLoader queue");
    cr_assert(row->value >= 0 && row->value <= 4);
  }
  trace_free(trace);
  data_loader_close(loader);
  train_rig_close(&rig);
}

PD_TEST(loader, a_delay_makes_each_batch_later_and_nothing_else) {
  train_rig rig;
  const pd_batch *batch;
  open_rig(&rig);
  for (int64_t workers = 0; workers <= 2; workers++) {
    const data_config config = config_of(workers);
    data_loader *loader = open_loader(&rig, &config);
    cr_assert(data_loader_delay(loader, 1000000));
    train_rig_ok(&rig, data_loader_iter_begin(loader), "iter_begin");
    for (uint64_t i = 0; i < 4; i++) {
      train_rig_ok(&rig, data_loader_next(loader, &batch), "next");
      expect_batch(&config, 1, i, batch);
    }
    data_loader_iter_end(loader);
    cr_assert_geq(data_loader_delayed(loader), 1e6, "what makes two batches at once takes twice as long for each");
    cr_assert(data_loader_delay(loader, 0));
    cr_assert_eq(data_loader_delayed(loader), 0);
    data_loader_close(loader);
  }
  train_rig_close(&rig);
}
