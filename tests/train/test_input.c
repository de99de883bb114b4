/* The batch on the device: what is current after copies ahead of their turn, taken, dropped and mistaken. */
#include "pd_test.h"
#include "train_rig.h"

#include "train/input.h"

#include <stdlib.h>

enum { N = 4, S = 6, FLOATS = N * 3 * S * S };

typedef struct input_rig {
  train_rig rig;
  train_context c;
  input in;
  pd_batch batches[3];
} input_rig;

static void open_input(input_rig *r, bool fixed) {
  *r = (input_rig){.in = {.fixed = fixed}};
  train_rig_open(&r->rig);
  r->c = train_rig_context(&r->rig);
  for (uint64_t i = 0; i < 3; i++) {
    r->batches[i] = train_rig_batch(N, S, i + 1);
    r->batches[i].index = i;
  }
}

static void close_input(input_rig *r) {
  input_close(&r->c, &r->in);
  for (int i = 0; i < 3; i++) train_rig_batch_free(&r->batches[i]);
  train_rig_close(&r->rig);
}

static void take(input_rig *r, const pd_batch *batch) {
  float images[FLOATS];
  int64_t labels[N];
  train_rig_ok(&r->rig, input_take(&r->c, &r->in, batch), "take");
  pd_device *device = r->c.device;
  train_rig_ok(&r->rig,
               r->c.memory->copy(device, r->c.stream, images, r->in.images.data, sizeof images, PD_COPY_DEVICE_TO_HOST),
               "images");
  train_rig_ok(&r->rig,
               r->c.memory->copy(device, r->c.stream, labels, r->in.labels.data, sizeof labels, PD_COPY_DEVICE_TO_HOST),
               "labels");
  cr_assert(train_rig_same(images, batch->images, sizeof images));
  cr_assert(train_rig_same(labels, batch->labels, sizeof labels));
}

static void fetch(input_rig *r, const pd_batch *batch) {
  train_rig_ok(&r->rig, input_fetch(&r->c, &r->in, batch), "fetch");
}

PD_TEST(input, a_batch_copied_ahead_is_the_current_one_in_its_turn) {
  for (int fixed = 0; fixed < 2; fixed++) {
    input_rig r;
    open_input(&r, fixed);
    take(&r, &r.batches[0]);
    const void *first = r.in.images.data;
    for (uint64_t i = 1; i < 9; i++) {
      pd_batch *next = &r.batches[i % 3];
      next->index = i;
      fetch(&r, next);
      take(&r, next);
      /* A graph reads one buffer; else the two change places. */
      cr_assert_eq(r.in.images.data == first, fixed || i % 2 == 0, "fixed %d, batch %lu", fixed, i);
    }
    close_input(&r);
  }
}

PD_TEST(input, the_current_batch_stays_while_the_next_is_copied) {
  input_rig r;
  float images[FLOATS];
  open_input(&r, false);
  take(&r, &r.batches[0]);
  fetch(&r, &r.batches[1]);
  train_rig_ok(&r.rig, r.c.streams->device_synchronize(r.c.device), "synchronize");
  train_rig_ok(
      &r.rig, r.c.memory->copy(r.c.device, r.c.stream, images, r.in.images.data, sizeof images, PD_COPY_DEVICE_TO_HOST),
      "images");
  cr_assert(train_rig_same(images, r.batches[0].images, sizeof images));
  close_input(&r);
}

PD_TEST(input, another_batch_than_the_one_copied_ahead_is_copied_itself) {
  input_rig r;
  open_input(&r, false);
  take(&r, &r.batches[0]);
  fetch(&r, &r.batches[1]);
  take(&r, &r.batches[2]);
  /* The same memory with other contents, in another batch's turn. */
  fetch(&r, &r.batches[1]);
  train_rig_ok(&r.rig, input_forget(&r.c, &r.in), "forget");
  ((float *)train_rig_writable(r.batches[1].images))[5] = 42;
  take(&r, &r.batches[1]);
  fetch(&r, &r.batches[1]);
  r.batches[1].index++;
  train_rig_ok(&r.rig, r.c.streams->device_synchronize(r.c.device), "synchronize");
  ((float *)train_rig_writable(r.batches[1].images))[5] = 43;
  take(&r, &r.batches[1]);
  close_input(&r);
}

PD_TEST(input, a_resident_batch_is_not_copied_ahead) {
  input_rig r;
  open_input(&r, false);
  r.batches[1].resident = 1;
  fetch(&r, &r.batches[1]);
  cr_assert_null(r.in.ahead.stream);
  take(&r, &r.batches[1]);
  close_input(&r);
}
