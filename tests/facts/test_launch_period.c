/* The period of made-up launches: loops with an optimizer, with copies, nested ones, and what is no loop. */
#include "pd_test.h"

#include "facts/launch_period.h"
#include "facts/step_finder.h"

#include <stdlib.h>

enum { MOST = 100000, OPTIMIZER = 900 };
typedef struct made {
  launch_at launches[MOST];
  launch_copy copies[MOST];
  launch_sequence all;
} made;

static made *begin(void) {
  made *self = calloc(1, sizeof *self);
  cr_assert_not_null(self);
  self->all = (launch_sequence){.launches = self->launches, .copies = self->copies, .symbols = 1000};
  return self;
}
static void launch(made *self, uint32_t symbol) {
  self->launches[self->all.count] = (launch_at){symbol, (uint32_t)self->all.count, symbol >= OPTIMIZER};
  self->all.count++;
}
static void copy(made *self, uint64_t bytes) {
  self->copies[self->all.copy_count++] = (launch_copy){bytes, self->all.count, 0};
}
/* `layers` layers of six kernels that are alike, each behind a kernel of its own. */
static void forward(made *self, uint32_t layers) {
  for (uint32_t i = 0; i < layers; i++)
    for (uint32_t k = 0; k < 6; k++) launch(self, 10 + k);
  for (uint32_t i = 0; i < 10; i++) launch(self, 100 + i);
}
static launch_period found(made *self) {
  launch_period out;
  cr_assert_eq(launch_period_find(&self->all, &out), PD_OK);
  free(self);
  return out;
}

PD_TEST(launch_period, a_step_ends_behind_the_optimizer) {
  for (uint32_t shift = 0; shift < 50; shift += 7) {
    made *self = begin();
    for (uint32_t step = 0; step < 6; step++) {
      forward(self, 12);
      launch(self, OPTIMIZER);
      launch(self, OPTIMIZER + 1);
    }
    for (uint64_t i = 0; i + shift < self->all.count; i++) self->launches[i] = self->launches[i + shift];
    self->all.count -= shift;
    const launch_period out = found(self);
    cr_assert_eq(out.length, 84);
    cr_assert_eq(out.phase, (84 - shift) % 84, "shift %u: %llu", shift, (unsigned long long)out.phase);
    cr_assert_float_eq(out.match, 1, 0);
  }
}

PD_TEST(launch_period, micro_batches_are_no_steps) {
  for (uint32_t batches = 2; batches <= 8; batches *= 2) {
    made *self = begin();
    for (uint32_t step = 0; step < 5; step++) {
      for (uint32_t i = 0; i < batches; i++) forward(self, 3);
      for (uint32_t i = 0; i < 4; i++) launch(self, OPTIMIZER + i);
    }
    cr_assert_eq(found(self).length, batches * 28 + 4);
  }
}

PD_TEST(launch_period, a_few_launches_may_differ) {
  made *self = begin();
  for (uint32_t step = 0; step < 5; step++) {
    forward(self, 12);
    launch(self, 200 + step % 3);
    launch(self, OPTIMIZER);
  }
  const launch_period out = found(self);
  cr_assert_eq(out.length, 84);
  cr_assert(out.match > 0.98 && out.match < 1);
}

PD_TEST(launch_period, layers_without_an_optimizer_are_no_loop) {
  made *self = begin();
  copy(self, 64);
  for (uint32_t i = 0; i < 40; i++)
    for (uint32_t k = 0; k < 14; k++) launch(self, 10 + k);
  const launch_period out = found(self);
  cr_assert_eq(out.length, 0);
  cr_assert_str_eq(out.why, "what repeats holds no optimizer and no copy from the host of one size; it may be a layer");
}

PD_TEST(launch_period, a_copy_of_one_size_begins_a_step) {
  made *self = begin();
  launch(self, 500);
  for (uint32_t i = 0; i < 9; i++) {
    launch(self, 10);
    launch(self, 11);
    copy(self, 4096);
    for (uint32_t k = 0; k < 20; k++) launch(self, 20 + k);
  }
  const launch_period out = found(self);
  cr_assert_eq(out.length, 22);
  cr_assert_eq(out.phase, 3);
}

PD_TEST(launch_period, two_repeats_are_too_few) {
  made *self = begin();
  for (uint32_t i = 0; i < 2; i++) {
    for (uint32_t k = 0; k < 40; k++) launch(self, 10 + k);
    launch(self, OPTIMIZER);
  }
  cr_assert_eq(found(self).length, 0);
}

PD_TEST(launch_period, chance_is_no_loop) {
  made *self = begin();
  uint32_t random = 12345;
  for (uint32_t i = 0; i < 20000; i++) {
    random = random * 1664525 + 1013904223;
    launch(self, (random >> 16) % 50 == 0 ? OPTIMIZER : (random >> 20) % 40);
  }
  cr_assert_eq(found(self).length, 0);
}
