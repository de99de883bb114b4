/* Samples: N(0,1) by five measures, labels, augmentation, and the same bits on every instruction set. */
#include "pd_test.h"

#include "data/dataset.h"
#include "data/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 1 << 20 };

/* Bits, not values: every difference counts. */
static int differ(const void *a, const void *b, size_t bytes) { return memcmp(a, b, bytes); }

static float *draw(uint64_t key) {
  float *values = malloc(COUNT * sizeof *values);
  cr_assert(values);
  noise_normal(values, COUNT, key, 1);
  return values;
}

/* Bounds are five standard errors of the statistic for COUNT draws; the keys are fixed, so the test cannot flicker. */
PD_TEST(dataset, moments_are_those_of_the_normal_distribution) {
  for (uint64_t key = 1; key <= 8; key++) {
    float *values = draw(key);
    double sum = 0, square = 0, cube = 0, fourth = 0;
    for (int i = 0; i < COUNT; i++) {
      const double x = (double)values[i];
      sum += x;
      square += x * x;
      cube += x * x * x;
      fourth += x * x * x * x;
    }
    const double n = COUNT;
    cr_assert_lt(fabs(sum / n), 5 * sqrt(1 / n), "mean %g", sum / n);
    cr_assert_lt(fabs(square / n - 1), 5 * sqrt(2 / n), "variance %g", square / n);
    cr_assert_lt(fabs(cube / n), 5 * sqrt(15 / n), "skew %g", cube / n);
    cr_assert_lt(fabs(fourth / n - 3), 5 * sqrt(96 / n), "kurtosis %g", fourth / n);
    free(values);
  }
}

PD_TEST(dataset, tails_hold_their_share) {
  float *values = draw(99);
  for (int sigma = 1; sigma <= 4; sigma++) {
    const double share = erfc(sigma / sqrt(2.0));
    double outside = 0;
    for (int i = 0; i < COUNT; i++) outside += fabsf(values[i]) > (float)sigma;
    cr_assert_lt(fabs(outside / COUNT - share), 5 * sqrt(share * (1 - share) / COUNT), "beyond %d: %g, want %g", sigma,
                 outside / COUNT, share);
  }
  free(values);
}

static int ascending(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Kolmogorov and Smirnov: the largest distance of the two distribution functions, times sqrt(n), exceeds 1.95 with
 * probability 0.001. Each half of the array is checked too: one comes from cosines, the other from sines. */
PD_TEST(dataset, the_distribution_is_normal_everywhere) {
  for (uint64_t key = 5; key <= 7; key++) {
    float *values = draw(key);
    const int from[] = {0, 0, COUNT / 2}, length[] = {COUNT, COUNT / 2, COUNT / 2};
    float *part = malloc(COUNT * sizeof *part);
    for (int k = 0; k < 3; k++) {
      const int n = length[k];
      memcpy(part, values + from[k], (size_t)n * sizeof *part);
      qsort(part, (size_t)n, sizeof *part, ascending);
      double worst = 0;
      for (int i = 0; i < n; i++) {
        const double f = 0.5 * erfc(-(double)part[i] / sqrt(2.0));
        worst = fmax(worst, fmax(fabs(f - (double)i / n), fabs(f - (double)(i + 1) / n)));
      }
      cr_assert_lt(worst * sqrt((double)n), 1.95);
    }
    free(part);
    free(values);
  }
}

static double correlation(const float *a, const float *b, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++) sum += (double)a[i] * (double)b[i];
  return sum / count;
}

PD_TEST(dataset, samples_and_neighbours_are_uncorrelated) {
  float *a = draw(1000), *b = draw(1001);
  const double bound = 5 / sqrt((double)COUNT);
  cr_assert_lt(fabs(correlation(a, b, COUNT)), bound);
  for (int lag = 1; lag <= 3; lag++) cr_assert_lt(fabs(correlation(a, a + lag, COUNT - lag)), bound);
  cr_assert_lt(fabs(correlation(a, a + COUNT / 2, COUNT / 2)), bound * sqrt(2.0));
  free(a);
  free(b);
}

PD_TEST(dataset, every_instruction_set_gives_the_same_bits) {
  float *one = malloc(10007 * sizeof *one), *other = malloc(10007 * sizeof *other);
  for (int64_t count = 0; count < 10007; count = count * 3 + 1)
    for (int path = 0; path < noise_path_count(); path++) {
      memset(one, 0x7f, 10007 * sizeof *one);
      memset(other, 0x7f, 10007 * sizeof *other);
      noise_normal_path(0, one, count, 77, 1.25F);
      noise_normal_path(path, other, count, 77, 1.25F);
      cr_assert_eq(differ(one, other, 10007 * sizeof *one), 0, "path %d, %ld elements", path, count);
      for (int64_t i = 0; i < count; i++) cr_assert(isfinite(one[i]));
    }
  free(one);
  free(other);
}

PD_TEST(dataset, a_sample_depends_on_seed_epoch_and_index_alone) {
  dataset set = {.seed = 3, .image_size = 9, .cpu_work = 0};
  float first[243], again[243];
  int64_t label, label_again;
  dataset_sample(&set, 1, 5, first, &label);
  dataset_sample(&set, 1, 6, again, &label_again);
  cr_assert_neq(differ(first, again, sizeof first), 0);
  dataset_sample(&set, 2, 5, again, &label_again);
  cr_assert_neq(differ(first, again, sizeof first), 0);
  dataset_sample(&set, 1, 5, again, &label_again);
  cr_assert(differ(first, again, sizeof first) == 0 && label == label_again);
  set.seed = 4;
  dataset_sample(&set, 1, 5, again, &label_again);
  cr_assert_neq(differ(first, again, sizeof first), 0);
}

/* 200000 labels: 200 of each expected, standard deviation 14. */
PD_TEST(dataset, labels_are_uniform_in_0_to_999) {
  const dataset set = {.seed = 1, .image_size = 1};
  static int counts[1000];
  float image[3];
  int64_t label;
  for (uint64_t i = 0; i < 200000; i++) {
    dataset_sample(&set, 0, i, image, &label);
    cr_assert(label >= 0 && label < 1000);
    counts[label]++;
  }
  for (int i = 0; i < 1000; i++) cr_assert(counts[i] > 200 - 75 && counts[i] < 200 + 75, "label %d: %d", i, counts[i]);
}

PD_TEST(dataset, augmentation_is_the_sum_of_the_workload) {
  for (int64_t rounds = 0; rounds <= 4000; rounds += 1000) {
    double acc = 0;
    for (int64_t i = 0; i < rounds; i++) acc += sin((double)i * 0.001) * cos((double)i * 0.002);
    const double want = acc - floor(acc / 1e-3) * 1e-3, got = dataset_augment(rounds);
    cr_assert(got >= 0 && got <= 1e-3);
    cr_assert_lt(fabs(got - want), 1e-12);
  }
}

/* The image carries the factor 1 + rest: a sample with cpu_work differs from one without by exactly that. */
PD_TEST(dataset, augmentation_scales_the_image) {
  const dataset plain = {.seed = 3, .image_size = 9}, worked = {.seed = 3, .image_size = 9, .cpu_work = 300};
  const float factor = (float)(1 + dataset_augment(300));
  float a[243], b[243];
  int64_t label;
  dataset_sample(&plain, 0, 0, a, &label);
  dataset_sample(&worked, 0, 0, b, &label);
  cr_assert_gt(factor, 1.0F);
  for (int i = 0; i < 243; i++) cr_assert_eq(b[i], a[i] * factor);
}

PD_TEST(dataset, reads_vary_around_their_mean) {
  const dataset set = {.seed = 3};
  enum { READS = 100000 };
  double sum = 0, logs = 0, squares = 0;
  for (uint64_t i = 0; i < READS; i++) {
    const double share = dataset_read_share(&set, 1 + i % 2, i, 0.7);
    sum += share / READS;
    logs += log(share) / READS;
    squares += log(share) * log(share) / READS;
    cr_assert(share > 0);
    cr_assert_eq(differ(&share, &(double){dataset_read_share(&set, 1 + i % 2, i, 0.7)}, sizeof share), 0);
  }
  cr_assert_float_eq(sum, 1, 0.02, "mean %g", sum);
  cr_assert_float_eq(logs, -0.245, 0.02, "mean logarithm %g", logs);
  cr_assert_float_eq(sqrt(squares - logs * logs), 0.7, 0.02);
  cr_assert(fabs(dataset_read_share(&set, 1, 5, 0.7) - dataset_read_share(&set, 2, 5, 0.7)) > 0);
  const double plain = dataset_read_share(&set, 1, 5, 0), one = 1;
  cr_assert_eq(differ(&plain, &one, sizeof one), 0);
}
