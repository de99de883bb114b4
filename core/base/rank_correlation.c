/* See rank_correlation.h. */
#include "rank_correlation.h"

#include "random_bits.h"

#include <math.h>
#include <stdlib.h>

enum { LEAST = 3, SHUFFLES = 999 };
#define SEED 1
/* Sums of the same products in another order differ by so much at most. */
#define ROUNDING 1e-9

typedef struct ranked {
  double value;
  uint64_t at;
} ranked;

static int by_value(const void *a, const void *b) {
  const double x = ((const ranked *)a)->value, y = ((const ranked *)b)->value;
  return (x > y) - (x < y);
}

/* Ranks less their mean. Returns the sum of their squares. */
static double rank(const double *values, uint64_t count, ranked *order, double *ranks) {
  double squares = 0;
  for (uint64_t i = 0; i < count; i++) order[i] = (ranked){values[i], i};
  qsort(order, count, sizeof *order, by_value);
  for (uint64_t first = 0, end; first < count; first = end) {
    for (end = first + 1; end < count && !(order[first].value < order[end].value);) end++;
    const double mean = ((double)first + (double)end - (double)count) / 2;
    for (uint64_t i = first; i < end; i++) ranks[order[i].at] = mean;
    squares += (double)(end - first) * mean * mean;
  }
  return squares;
}

static double product(const double *a, const double *b, uint64_t count) {
  double sum = 0;
  for (uint64_t i = 0; i < count; i++) sum += a[i] * b[i];
  return sum;
}

static void shuffle(double *values, uint64_t count, uint64_t *state) {
  for (uint64_t i = count - 1; i; i--) {
    const uint64_t other = random_bits(state) % (i + 1);
    const double kept = values[i];
    values[i] = values[other];
    values[other] = kept;
  }
}

static double chance_of(double *x, const double *y, uint64_t count) {
  const double found = fabs(product(x, y, count));
  uint64_t state = SEED;
  int as_far = 1; /* what was found is one of the orders, too */
  for (int i = 0; i < SHUFFLES; i++) {
    shuffle(x, count, &state);
    as_far += fabs(product(x, y, count)) >= found * (1 - ROUNDING);
  }
  return (double)as_far / (SHUFFLES + 1);
}

bool rank_correlation_make(const double *x, const double *y, uint64_t count, rank_correlation *out) {
  *out = (rank_correlation){NAN, NAN};
  if (count < LEAST) return true;
  ranked *order = calloc(count, sizeof *order);
  double *ranks = calloc(2 * count, sizeof *ranks);
  const bool ok = order && ranks;
  if (ok) {
    const double squares = rank(x, count, order, ranks) * rank(y, count, order, ranks + count);
    if (squares > 0) {
      out->rho = product(ranks, ranks + count, count) / sqrt(squares);
      out->p = chance_of(ranks, ranks + count, count);
    }
  }
  free(order);
  free(ranks);
  return ok;
}
