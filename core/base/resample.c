/* See resample.h. */
#include "resample.h"

#include "random_bits.h"
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 1000, LEAST_ROUNDS = 400 };
/* Values drawn in all, so that a long sample does not take forever. */
#define DRAWS 4000000
#define HALF_PI 1.5707963267948966

/* Below `limit`, which is far below 2^53. */
static uint64_t below(uint64_t *state, uint64_t limit) {
  return (uint64_t)((double)(random_bits(state) >> 11) * 0x1p-53 * (double)limit);
}

static uint64_t rounds_for(uint64_t values) {
  const uint64_t rounds = DRAWS / values;
  return rounds > ROUNDS ? ROUNDS : rounds < LEAST_ROUNDS ? LEAST_ROUNDS : rounds;
}

/* Moves the `rank`-th smallest value to its place, smaller ones before it: Hoare's selection. */
static double select_rank(double *values, uint64_t count, uint64_t rank) {
  uint64_t low = 0, high = count - 1;
  while (low < high) {
    const double pivot = values[rank];
    uint64_t i = low, j = high;
    for (;;) {
      while (values[i] < pivot) i++;
      while (values[j] > pivot) j--;
      if (i <= j) {
        const double kept = values[i];
        values[i] = values[j];
        values[j] = kept;
        i++;
        if (j == 0) break;
        j--;
      }
      if (i > j) break;
    }
    if (j < rank) low = i;
    if (i > rank) high = j;
  }
  return values[rank];
}

static double median_of(double *values, uint64_t count) {
  const uint64_t middle = count / 2;
  const double upper = select_rank(values, count, middle);
  if (count % 2) return upper;
  double lower = values[0];
  for (uint64_t i = 1; i < middle; i++) lower = fmax(lower, values[i]);
  return (lower + upper) / 2;
}

double resample_trimmed_mean(double *values, uint64_t count) {
  const uint64_t cut = count / 5, kept = count - 2 * cut;
  double sum = 0;
  if (cut) {
    (void)select_rank(values, count, cut);
    (void)select_rank(values + cut, count - cut, kept - 1);
  }
  for (uint64_t i = cut; i < cut + kept; i++) sum += values[i];
  return sum / (double)kept;
}

static void take_interval(double *drawn, uint64_t rounds, resample_ratio *out) {
  stats_sort(drawn, rounds);
  out->low = exp(stats_quantile(drawn, rounds, 0.025));
  out->high = exp(stats_quantile(drawn, rounds, 0.975));
}

/* The place of each value among all of them, from 0; equal ones share the mean of theirs. */
static bool rank_all(const double *values, uint64_t count, double *ranks) {
  double *sorted = malloc(count * sizeof *sorted);
  if (!sorted) return false;
  memcpy(sorted, values, count * sizeof *values);
  stats_sort(sorted, count);
  for (uint64_t i = 0; i < count; i++) {
    uint64_t first = 0, end = count; /* the first that is not below, then the first that is above */
    for (uint64_t high = count; first < high;) {
      const uint64_t middle = first + (high - first) / 2;
      if (sorted[middle] < values[i])
        first = middle + 1;
      else
        high = middle;
    }
    for (uint64_t low = first; low < end;) {
      const uint64_t middle = low + (end - low) / 2;
      if (sorted[middle] > values[i])
        end = middle;
      else
        low = middle + 1;
    }
    ranks[i] = (double)(first + end - 1) / 2;
  }
  free(sorted);
  return true;
}

/* How much further Student's t reaches than the normal distribution, and what a bootstrap of few values leaves out. */
static double small_sample_factor(uint64_t count) {
  const double z = 1.959964, freedom = (double)(count > 1 ? count - 1 : 1);
  const double t =
      z + (pow(z, 3) + z) / (4 * freedom) + (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * freedom * freedom);
  return t / z * sqrt((double)count / freedom);
}

/* Wilcoxon's signed ranks: share of random signs that part them at least as well as the values' own do. `ranks` has
 * room for count. */
static bool signed_rank_share(const double *values, uint64_t count, uint64_t rounds, uint64_t *seed, double *ranks,
                              double *share) {
  double *sizes = malloc(count * sizeof *sizes), own = 0;
  if (!sizes) return false;
  for (uint64_t i = 0; i < count; i++) sizes[i] = fabs(values[i]);
  const bool ranked = rank_all(sizes, count, ranks);
  free(sizes);
  if (!ranked) return false;
  for (uint64_t i = 0; i < count; i++) {
    ranks[i] = fabs(values[i]) > 0 ? ranks[i] + 1 : 0;
    own += values[i] < 0 ? -ranks[i] : ranks[i];
  }
  uint64_t as_large = 1;
  for (uint64_t round = 0; round < rounds; round++) {
    double sum = 0;
    for (uint64_t i = 0; i < count; i++) sum += random_bits(seed) & 1 ? -ranks[i] : ranks[i];
    as_large += fabs(sum) >= fabs(own);
  }
  *share = (double)as_large / (double)(rounds + 1);
  return true;
}

/* The trimmed mean of `values` and its interval, from draws with repetition. `scratch` has room for count + rounds. */
static resample_change trimmed_change(const double *values, uint64_t count, uint64_t rounds, uint64_t *seed,
                                      double *scratch) {
  double *drawn = scratch + count;
  memcpy(scratch, values, count * sizeof *values);
  const double centre = resample_trimmed_mean(scratch, count), factor = small_sample_factor(count);
  for (uint64_t round = 0; round < rounds; round++) {
    for (uint64_t i = 0; i < count; i++) scratch[i] = values[below(seed, count)];
    drawn[round] = resample_trimmed_mean(scratch, count);
  }
  stats_sort(drawn, rounds);
  return (resample_change){.change = centre,
                           .low = centre - factor * (centre - stats_quantile(drawn, rounds, 0.025)),
                           .high = centre + factor * (stats_quantile(drawn, rounds, 0.975) - centre)};
}

bool resample_differences(const double *values, uint64_t count, uint64_t seed, resample_change *out) {
  const uint64_t rounds = rounds_for(count);
  double *scratch = malloc((count + rounds) * sizeof *scratch);
  if (!scratch) return false;
  *out = trimmed_change(values, count, rounds, &seed, scratch);
  free(scratch);
  return true;
}

/* Two-sided p of Student's t. Abramowitz and Stegun, Handbook of Mathematical Functions, 26.7.3 and 26.7.4. */
static double student_p(double t, uint64_t freedom) {
  const double angle = atan(fabs(t) / sqrt((double)freedom)), cosine = cos(angle);
  double term = freedom % 2 ? cosine : 1, sum = 0;
  for (uint64_t i = freedom % 2 ? 3 : 2; i <= freedom; i += 2) {
    sum += term;
    term *= cosine * cosine * (double)(i - 1) / (double)i;
  }
  return 1 - (freedom % 2 ? (angle + sin(angle) * sum) / HALF_PI : sin(angle) * sum);
}

/* 97.5 %, of two degrees of freedom and more; of six at most. */
static double student_quantile(uint64_t freedom) {
  static const double all[] = {4.3027, 3.1824, 2.7764, 2.5706, 2.4469};
  enum { FIRST = RESAMPLE_STUDENT_LEAST - 1, LAST = RESAMPLE_RANKS_LEAST - 2 };
  return all[freedom < FIRST ? 0 : freedom > LAST ? LAST - FIRST : freedom - FIRST];
}

void resample_student(const double *rounds, uint64_t count, resample_ratio *out) {
  double mean = 0, squares = 0;
  for (uint64_t i = 0; i < count; i++) mean += rounds[i] / (double)count;
  for (uint64_t i = 0; i < count; i++) squares += (rounds[i] - mean) * (rounds[i] - mean);
  const double error = sqrt(squares / (double)(count - 1) / (double)count), reach = student_quantile(count - 1) * error;
  const double p = error > 0 ? student_p(mean / error, count - 1) : fabs(mean) > 0 ? 0 : 1;
  *out = (resample_ratio){exp(mean), exp(mean - reach), exp(mean + reach), fmax(p, 1.0 / (ROUNDS + 1))};
}

bool resample_paired(const double *values, uint64_t count, uint64_t seed, resample_ratio *out) {
  const uint64_t rounds = rounds_for(count);
  double *scratch = malloc((count + rounds) * sizeof *scratch);
  if (!scratch) return false;
  const resample_change logs = trimmed_change(values, count, rounds, &seed, scratch);
  out->ratio = exp(logs.change);
  out->low = exp(logs.low);
  out->high = exp(logs.high);
  const bool ok = signed_rank_share(values, count, rounds, &seed, scratch, &out->p);
  free(scratch);
  return ok;
}

/* Length of the runs of neighbours: it grows as the third root, from twice of it since noise lasts. */
static uint64_t run_length(uint64_t count) { return (uint64_t)ceil(2 * cbrt((double)count)) - 1; }

/* Fills `scratch` with runs of `length` neighbours. */
static void draw_runs(const double *values, uint64_t count, uint64_t length, uint64_t *seed, double *scratch) {
  uint64_t at = 0;
  while (at < count) {
    const uint64_t start = below(seed, count);
    for (uint64_t i = 0; i < length && at < count; i++) scratch[at++] = values[(start + i) % count];
  }
}

static double log_median_of_runs(const double *values, uint64_t count, uint64_t *seed, double *scratch) {
  draw_runs(values, count, run_length(count), seed, scratch);
  return log(median_of(scratch, count));
}

static double mean_of_runs(const double *values, uint64_t count, uint64_t length, uint64_t *seed, double *scratch) {
  double sum = 0;
  draw_runs(values, count, length, seed, scratch);
  for (uint64_t i = 0; i < count; i++) sum += scratch[i];
  return sum / (double)count;
}

/* Both samples' ranks in one list of runs, to be shuffled; the first a_count are then called A's. */
typedef struct shuffle {
  const double *ranks;
  uint64_t *starts;
  uint64_t runs, length, count;
} shuffle;

/* How far the sum of A's ranks is from what it is on average. */
static double rank_distance(const shuffle *self, uint64_t a_count) {
  double sum = 0;
  uint64_t at = 0;
  for (uint64_t run = 0; run < self->runs; run++)
    for (uint64_t i = self->starts[run]; i < self->starts[run] + self->length && i < self->count && at < a_count; i++) {
      sum += self->ranks[i];
      at++;
    }
  return fabs(sum - (double)a_count * (double)(self->count - 1) / 2);
}

static void shuffle_runs(const shuffle *self, uint64_t *seed) {
  for (uint64_t i = self->runs; i > 1; i--) {
    const uint64_t other = below(seed, i), kept = self->starts[i - 1];
    self->starts[i - 1] = self->starts[other];
    self->starts[other] = kept;
  }
}

/* Share of the shuffles that part the ranks at least as well as A and B do. */
static double shuffled_share(const shuffle *self, uint64_t a_count, uint64_t rounds, uint64_t *seed) {
  const double distance = rank_distance(self, a_count) * (1 - 1e-12); /* sums in another order differ in rounding */
  uint64_t as_large = 1;
  for (uint64_t round = 0; round < rounds; round++) {
    shuffle_runs(self, seed);
    as_large += rank_distance(self, a_count) >= distance;
  }
  return (double)as_large / (double)(rounds + 1);
}

bool resample_unpaired(const double *a, uint64_t a_count, const double *b, uint64_t b_count, uint64_t seed,
                       resample_ratio *out) {
  const uint64_t count = a_count + b_count, rounds = rounds_for(count);
  const uint64_t length = run_length(a_count < b_count ? a_count : b_count), runs = (count + length - 1) / length;
  double *memory = malloc((2 * count + rounds) * sizeof *memory);
  uint64_t *starts = malloc(runs * sizeof *starts);
  bool ok = memory && starts;
  if (ok) {
    double *all = memory, *scratch = all + count, *drawn = scratch + count;
    memcpy(all, a, a_count * sizeof *a);
    memcpy(all + a_count, b, b_count * sizeof *b);
    memcpy(scratch, all, count * sizeof *all);
    out->ratio = median_of(scratch + a_count, b_count) / median_of(scratch, a_count);
    for (uint64_t round = 0; round < rounds; round++) {
      const double of_a = log_median_of_runs(a, a_count, &seed, scratch);
      drawn[round] = log_median_of_runs(b, b_count, &seed, scratch) - of_a;
    }
    take_interval(drawn, rounds, out);
    const shuffle mixed = {.ranks = scratch, .starts = starts, .runs = runs, .length = length, .count = count};
    for (uint64_t i = 0; i < runs; i++) starts[i] = i * length;
    ok = rank_all(all, count, scratch);
    if (ok) out->p = shuffled_share(&mixed, a_count, rounds, &seed);
  }
  free(memory);
  free(starts);
  return ok;
}

bool resample_means(const double *a, uint64_t a_count, const double *b, uint64_t b_count, uint64_t seed,
                    resample_change *out) {
  const uint64_t least = a_count < b_count ? a_count : b_count, count = a_count + b_count, rounds = rounds_for(count);
  const bool in_runs = least >= RESAMPLE_RUNS_LEAST;
  double *scratch = malloc((count + rounds) * sizeof *scratch);
  if (!scratch) return false;
  double *drawn = scratch + count, sums[2] = {0};
  for (uint64_t i = 0; i < a_count; i++) sums[0] += a[i];
  for (uint64_t i = 0; i < b_count; i++) sums[1] += b[i];
  out->change = sums[1] / (double)b_count - sums[0] / (double)a_count;
  for (uint64_t round = 0; round < rounds; round++) {
    const double of_a = mean_of_runs(a, a_count, in_runs ? run_length(a_count) : 1, &seed, scratch);
    drawn[round] = mean_of_runs(b, b_count, in_runs ? run_length(b_count) : 1, &seed, scratch) - of_a;
  }
  stats_sort(drawn, rounds);
  const double factor = small_sample_factor(least);
  out->low = out->change - factor * (out->change - stats_quantile(drawn, rounds, 0.025));
  out->high = out->change + factor * (stats_quantile(drawn, rounds, 0.975) - out->change);
  free(scratch);
  return true;
}
