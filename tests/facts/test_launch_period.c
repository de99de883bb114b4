/* The period of made-up launches: loops with an optimizer, with copies, nested ones, and what is no loop. */
#include "pd_test.h"

#include "facts/launch_period.h"
#include "facts/step_finder.h"

#include <stdlib.h>

enum { MOST = 100000, READ = 899, OPTIMIZER };
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
  self->launches[self->all.count] =
      (launch_at){symbol, (uint32_t)self->all.count, 0, symbol >= OPTIMIZER, symbol == READ, 1000};
  self->all.count++;
}
static void copy(made *self, uint64_t bytes) {
  self->copies[self->all.copy_count++] = (launch_copy){bytes, self->all.count, 0, (int64_t)bytes};
}
/* `layers` layers of six kernels that are alike, each behind a kernel of its own. */
static void forward(made *self, uint32_t layers) {
  for (uint32_t i = 0; i < layers; i++)
    for (uint32_t k = 0; k < 6; k++) launch(self, 10 + k);
  for (uint32_t i = 0; i < 10; i++) launch(self, 100 + i);
}
/* What a test looks at. */
typedef struct answer {
  uint64_t length, first, end, count;
  double match;
  const char *why;
} answer;

static answer found(made *self) {
  launch_period out;
  cr_assert_eq(launch_period_find(&self->all, &out), PD_OK);
  const answer got = {
      out.length, out.count ? out.starts[0] : 0, out.count ? out.starts[out.count] : 0, out.count, out.match, out.why};
  for (uint64_t i = 0; i < out.count; i++) cr_assert_lt(out.starts[i], out.starts[i + 1]);
  free(out.starts);
  free(self);
  return got;
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
    const answer out = found(self);
    cr_assert_eq(out.length, 84);
    cr_assert_eq(out.first, (84 - shift) % 84, "shift %u: %llu", shift, (unsigned long long)out.first);
    cr_assert_float_eq(out.match, 1, 0);
  }
}

/* A copy may have the name of an optimizer. The search ends where the loop has nothing else. */
PD_TEST_WITH(launch_period, launches_that_are_all_copies_to_the_host, .timeout = 20) {
  made *self = begin();
  for (uint32_t step = 0; step < 60; step++) {
    launch(self, OPTIMIZER);
    self->launches[self->all.count - 1].to_host = true;
    launch(self, READ);
  }
  cr_assert_eq(found(self).length, 2);
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

/* `steps` training steps, then as many of a validation, again and again. */
static answer epochs(uint32_t steps) {
  made *self = begin();
  for (uint32_t epoch = 0; epoch < 6; epoch++) {
    for (uint32_t i = 0; i < steps; i++) {
      forward(self, 3);
      for (uint32_t k = 0; k < 4; k++) launch(self, OPTIMIZER + k);
    }
    for (uint32_t i = 0; i < steps; i++) forward(self, 2);
  }
  return found(self);
}

PD_TEST(launch_period, a_validation_behind_each_epoch_makes_no_epoch_a_step) {
  const answer out = epochs(20);
  cr_assert_eq(out.length, 32);
  cr_assert_geq(out.count, 19);
  cr_assert_leq(out.count, 20);
  cr_assert_eq(out.first % (20 * (32 + 22)), 0, "%llu", (unsigned long long)out.first);
}

PD_TEST(launch_period, a_few_times_of_one_network_may_be_parts_of_a_step) {
  cr_assert_eq(epochs(5).length, 5 * (32 + 22));
}

PD_TEST(launch_period, a_few_launches_may_differ) {
  made *self = begin();
  for (uint32_t step = 0; step < 5; step++) {
    forward(self, 12);
    launch(self, 200 + step % 3);
    launch(self, OPTIMIZER);
  }
  const answer out = found(self);
  cr_assert_eq(out.length, 84);
  cr_assert(out.match > 0.98 && out.match < 1);
}

PD_TEST(launch_period, layers_without_an_optimizer_are_no_loop) {
  made *self = begin();
  copy(self, 64);
  for (uint32_t i = 0; i < 40; i++)
    for (uint32_t k = 0; k < 14; k++) launch(self, 10 + k);
  const answer out = found(self);
  cr_assert_eq(out.length, 0);
  cr_assert_str_eq(out.why, "what repeats holds no optimizer and no copy of a batch from the host; it may be a layer");
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
  const answer out = found(self);
  cr_assert_eq(out.length, 22);
  cr_assert_eq(out.first, 3);
}

/* 28 periods of 20 kernels of 1 us, each behind copies of sizes of their own that take a nanosecond a byte. */
static answer behind_copies(uint32_t copies, uint64_t bytes) {
  made *self = begin();
  for (uint32_t i = 0; i < 28; i++) {
    for (uint32_t c = 0; c < copies; c++) copy(self, bytes + c);
    for (uint32_t k = 0; k < 20; k++) launch(self, 20 + k);
  }
  return found(self);
}

PD_TEST(launch_period, a_layer_whose_weights_are_copied_is_no_step) {
  cr_assert_eq(behind_copies(8, 8 << 20).length, 0);
  cr_assert_eq(behind_copies(8, 1 << 20).length, 20, "a batch of many parts may take longer than its kernels");
  cr_assert_eq(behind_copies(8, 1000).length, 20, "many small inputs are a batch");
  cr_assert_eq(behind_copies(2, 50 << 20).length, 20, "few long copies are a batch");
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

PD_TEST(launch_period, what_comes_before_and_behind_is_left_out) {
  made *self = begin();
  for (uint32_t i = 0; i < 3000; i++) launch(self, 300 + i * 7 % 400);
  for (uint32_t step = 0; step < 40; step++) {
    forward(self, 12);
    launch(self, OPTIMIZER);
  }
  for (uint32_t i = 0; i < 300; i++) launch(self, 300 + i * 11 % 400);
  const answer out = found(self);
  cr_assert_eq(out.length, 83);
  cr_assert_eq(out.first, 3000);
  cr_assert_eq(out.count, 40);
  cr_assert_eq(out.end, 3000 + 40 * 83);
}

PD_TEST(launch_period, launches_now_and_then_lengthen_their_step_alone) {
  made *self = begin();
  uint64_t first_of[100];
  for (uint32_t step = 0; step < 100; step++) {
    first_of[step] = self->all.count;
    forward(self, 12);
    if (step % 40 == 13)
      for (uint32_t i = 0; i < 5; i++) launch(self, 700 + i);
    launch(self, OPTIMIZER);
  }
  launch_period out;
  cr_assert_eq(launch_period_find(&self->all, &out), PD_OK);
  cr_assert_eq(out.length, 83);
  cr_assert_eq(out.count, 100, "%llu steps from %llu", (unsigned long long)out.count,
               (unsigned long long)out.starts[0]);
  for (uint32_t i = 0; i < 100; i++)
    cr_assert_eq(out.starts[i], first_of[i], "step %u begins at %llu", i, (unsigned long long)out.starts[i]);
  free(out.starts);
  free(self);
}

/* The last launch of all is one that begins a step: none begins there. */
PD_TEST(launch_period, the_last_step_holds_nothing_behind_the_loop) {
  made *self = begin();
  for (uint32_t step = 0; step < 10; step++) {
    for (uint32_t k = 0; k < 4; k++) launch(self, 10 + k);
    launch(self, OPTIMIZER);
  }
  for (uint32_t k = 0; k < 4; k++) launch(self, 500 + k);
  launch(self, 10);
  const answer out = found(self);
  cr_assert_eq(out.count, 10);
  cr_assert_eq(out.end, 50);
}

/* A loop without an optimizer's kernel or a copy, as one that runs SGD without foreach; its host pauses before
 * launch 50. */
PD_TEST(launch_period, what_repeats_more_often_than_layers_is_a_loop) {
  for (uint32_t steps = 199; steps <= 201; steps++) {
    made *self = begin();
    launch(self, 800);
    for (uint32_t step = 0; step < steps; step++) {
      const uint64_t first = self->all.count;
      forward(self, 12);
      self->launches[first + 50].gap_ns = 5000;
    }
    const answer out = found(self);
    cr_assert_eq(out.length, steps < 200 ? 0 : 82);
    if (steps < 200) continue;
    cr_assert_eq(out.first, 51);
    cr_assert_eq(out.count, steps - 1);
  }
}

PD_TEST(launch_period, one_kernel_again_and_again_is_no_loop) {
  made *self = begin();
  for (uint32_t i = 0; i < 5000; i++) launch(self, 10);
  cr_assert_eq(found(self).length, 0);
}

PD_TEST(launch_period, what_is_read_behind_the_optimizer_belongs_to_its_step) {
  made *self = begin();
  for (uint32_t step = 0; step < 9; step++) {
    forward(self, 2);
    launch(self, OPTIMIZER);
    launch(self, READ);
  }
  const answer out = found(self);
  cr_assert_eq(out.length, 24);
  cr_assert_eq(out.first, 0);
  cr_assert_eq(out.count, 9);
}

/* Steps in which a mask picks other rows each time, so that up to three of 84 launches come in or stay out. */
static void masked(made *self, uint32_t step) {
  forward(self, 12);
  for (uint32_t i = 0; i < step * step % 4; i++) launch(self, 600 + i);
  launch(self, OPTIMIZER);
  launch(self, OPTIMIZER + 1);
}

PD_TEST(launch_period, steps_that_differ_a_little_are_found_though_only_several_repeat) {
  made *self = begin();
  for (uint32_t step = 0; step < 70; step++) masked(self, step % 7);
  for (uint32_t step = 0; step < 3; step++) masked(self, step); /* a block that is cut off */
  const answer out = found(self);
  cr_assert_eq(out.count, 73, "%llu steps of %llu", (unsigned long long)out.count, (unsigned long long)out.length);
  cr_assert_eq(out.first, 0);
  cr_assert(out.length >= 84 && out.length <= 87);
  cr_assert(out.match > 0.95 && out.match < 1, "%g", out.match);
}

PD_TEST(launch_period, networks_that_take_turns_are_one_step) {
  made *self = begin();
  for (uint32_t step = 0; step < 20; step++) {
    for (uint32_t critic = 0; critic < 3; critic++) {
      forward(self, 3);
      launch(self, OPTIMIZER);
    }
    for (uint32_t i = 0; i < 40; i++) launch(self, 300 + i);
    launch(self, OPTIMIZER);
  }
  const answer out = found(self);
  cr_assert_eq(out.length, 3 * 29 + 41);
  cr_assert_geq(out.count, 19);
}

PD_TEST(launch_period, steps_of_which_none_repeats_are_found_by_their_optimizer) {
  uint32_t random = 4711;
  made *self = begin();
  for (uint32_t i = 0; i < 50; i++) launch(self, 800 + i);
  for (uint32_t step = 0; step < 60; step++) {
    random = random * 1664525 + 1013904223;
    masked(self, random >> 16);
    if (step % 20 == 9)
      for (uint32_t i = 0; i < 2; i++) launch(self, 700 + i); /* now and then a log */
  }
  const answer out = found(self);
  cr_assert_eq(out.count, 59, "%llu: %s", (unsigned long long)out.count, out.why);
  cr_assert(out.match > 0.95 && out.match < 1, "%g", out.match);
}
