/* What a difference between two samples is worth: bootstrap intervals and permutation tests. All draws come from a
 * seed, so the same data give the same answer. [any thread] */
#ifndef CORE_BASE_RESAMPLE_H
#define CORE_BASE_RESAMPLE_H

#include <stdbool.h>
#include <stdint.h>

/* B against A: 1.03 says that B takes 3 % more. */
typedef struct resample_ratio {
  double ratio;
  double low, high; /* 95 % interval of the ratio */
  double p;         /* of a difference at least this large where there is none */
} resample_ratio;

/* `rounds` logarithms of ratios measured in pairs. The ratio is that of their trimmed mean, a fifth cut off at either
 * end; the interval resamples rounds and, as Student's t does, reaches further when they are few; p is that of their
 * signed ranks. `count` > 0. False on no memory. */
bool resample_paired(const double *rounds, uint64_t count, uint64_t seed, resample_ratio *out);

/* The same of RESAMPLE_STUDENT_LEAST rounds or more, but fewer than RESAMPLE_RANKS_LEAST: their mean, with the interval
 * and p of Student's t. The ranks of so few cannot give a p below 0.01, whatever the values. */
#define RESAMPLE_STUDENT_LEAST 3
#define RESAMPLE_RANKS_LEAST 8
void resample_student(const double *rounds, uint64_t count, resample_ratio *out);

/* Two samples in the order of their measurement, taken one after the other; all values above 0. The ratio is that of
 * their medians; the interval resamples runs of neighbours, whose noise is alike; p shuffles such runs and looks at
 * the sums of their ranks. Counts > 0.
 * False on no memory. */
bool resample_unpaired(const double *a, uint64_t a_count, const double *b, uint64_t b_count, uint64_t seed,
                       resample_ratio *out);

/* Mean of B less mean of A. */
typedef struct resample_change {
  double change;
  double low, high; /* 95 % interval */
} resample_change;

/* Differences measured in pairs: their trimmed mean, with an interval as resample_paired's. `count` > 0. False on no
 * memory. */
bool resample_differences(const double *rounds, uint64_t count, uint64_t seed, resample_change *out);

/* The change from sample `a` to `b`, both in the order of their measurement, with any values. The interval comes from
 * runs of neighbours, from single values where the shorter sample has fewer than RESAMPLE_RUNS_LEAST, and reaches
 * further when they are few. Counts > 0. False on no memory. */
#define RESAMPLE_RUNS_LEAST 32
bool resample_means(const double *a, uint64_t a_count, const double *b, uint64_t b_count, uint64_t seed,
                    resample_change *out);

/* Mean of the middle three fifths of `values`, which are reordered. `count` > 0. */
double resample_trimmed_mean(double *values, uint64_t count);

#endif
