/* The order of an epoch. */
#include "pd_test.h"

#include "data/sampler.h"

#include <stdlib.h>
#include <string.h>

static void expect_permutation(const uint32_t *order, uint32_t count) {
  unsigned char *seen = calloc(count + 1, 1);
  cr_assert(seen);
  for (uint32_t i = 0; i < count; i++) {
    cr_assert_lt(order[i], count);
    cr_assert_eq(seen[order[i]]++, 0, "%u twice", order[i]);
  }
  free(seen);
}

PD_TEST(sampler, every_sample_once) {
  uint32_t order[1000];
  for (uint32_t count = 0; count <= 1000; count += 111) {
    sampler_shuffle(order, count, 7, 3);
    expect_permutation(order, count);
  }
}

PD_TEST(sampler, the_same_seed_and_epoch_give_the_same_order) {
  uint32_t a[500], b[500];
  sampler_shuffle(a, 500, 42, 1);
  sampler_shuffle(b, 500, 42, 1);
  cr_assert_eq(memcmp(a, b, sizeof a), 0);
}

PD_TEST(sampler, every_epoch_and_seed_has_its_own_order) {
  uint32_t a[500], b[500];
  sampler_shuffle(a, 500, 42, 1);
  sampler_shuffle(b, 500, 42, 2);
  cr_assert_neq(memcmp(a, b, sizeof a), 0);
  sampler_shuffle(b, 500, 43, 1);
  cr_assert_neq(memcmp(a, b, sizeof a), 0);
}

/* Each of 5 numbers in each of 5 places, 20000 draws: 4000 expected, standard deviation 57. */
PD_TEST(sampler, no_place_is_favoured) {
  uint32_t order[5], counts[5][5] = {{0}};
  for (uint64_t epoch = 0; epoch < 20000; epoch++) {
    sampler_shuffle(order, 5, 1, epoch);
    for (int i = 0; i < 5; i++) counts[i][order[i]]++;
  }
  for (int i = 0; i < 5; i++)
    for (int j = 0; j < 5; j++) cr_assert(counts[i][j] > 4000 - 300 && counts[i][j] < 4000 + 300, "%u", counts[i][j]);
}
