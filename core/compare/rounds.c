/* See rounds.h. */
#include "rounds.h"

#include "base/statistics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The same rounds give the same interval every time. */
#define SEED 1

bool rounds_ratio(const rounds *self, paired_ratio *out) {
  uint64_t count = 0;
  *out = (paired_ratio){.restarts = self->restart_count};
  for (uint64_t i = 0; i < self->restart_count; i++) count += self->restart_rounds[i];
  double *logs = malloc((count + self->restart_count + 1) * sizeof *logs);
  if (!logs) return false;
  double *means = logs + count;
  for (uint64_t i = 0; i < count; i++)
    logs[i] = log((self->b[2 * i] + self->b[2 * i + 1]) / (self->a[2 * i] + self->a[2 * i + 1]));
  statistics all;
  bool ok = statistics_make(logs, count, &all);
  out->rounds = count;
  out->spread = all.iqr;
  double *at = logs;
  for (uint64_t i = 0; i < self->restart_count; at += self->restart_rounds[i++])
    means[i] = resample_trimmed_mean(at, self->restart_rounds[i]);
  const bool few = self->restart_count >= RESAMPLE_STUDENT_LEAST && self->restart_count < RESAMPLE_RANKS_LEAST;
  if (few) resample_student(means, self->restart_count, &out->of);
  ok = ok && (few || resample_paired(means, self->restart_count, SEED, &out->of));
  free(logs);
  return ok;
}

bool rounds_of(const pd_measurement *a_of, const double *a, const pd_measurement *b_of, const double *b, rounds *out) {
  const pd_pairing *one = &a_of->pairing, *other = &b_of->pairing;
  if (!one->id || !other->id || strcmp(one->id, other->id) != 0 || one->side == other->side ||
      one->restart_count != other->restart_count || a_of->block_count != b_of->block_count ||
      memcmp(one->restart_rounds, other->restart_rounds, one->restart_count * sizeof *one->restart_rounds) != 0)
    return false;
  *out = (rounds){.a = a, .b = b, .restart_rounds = one->restart_rounds, .restart_count = one->restart_count};
  return true;
}
