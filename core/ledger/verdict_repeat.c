/* See verdict_repeat.h. */
#include "verdict_repeat.h"

#include "base/random_bits.h"

#include <string.h>

static uint64_t draws_for(uint64_t count) {
  const uint64_t draws = VERDICT_STEPS_DRAWN / count;
  return draws > VERDICT_DRAWS ? VERDICT_DRAWS : draws < VERDICT_LEAST_DRAWS ? VERDICT_LEAST_DRAWS : draws;
}

static uint32_t judge(const verdict_steps *steps, const verdict_basis *basis, const uint64_t *counts) {
  int64_t rows[LEDGER_CAUSE_COUNT] = {0}, span_ns = 0;
  uint64_t left = steps->count - steps->count / VERDICT_TRIM;
  for (uint64_t s = 0; left; s++) {
    const uint64_t times = counts[s] < left ? counts[s] : left;
    if (!times) continue;
    left -= times;
    span_ns += (int64_t)times * steps->spans_ns[s];
    for (uint32_t c = 0; c < LEDGER_CAUSE_COUNT; c++) rows[c] += (int64_t)times * steps->rows[s][c];
  }
  return verdict_of(rows, span_ns, basis);
}

uint64_t verdict_agreeing_draws(const verdict_steps *steps, const verdict_basis *basis, uint32_t cause,
                                uint64_t *counts, uint64_t *draws) {
  uint64_t agreeing = 0, state = VERDICT_SEED;
  *draws = draws_for(steps->count);
  for (uint64_t d = 0; d < *draws; d++) {
    memset(counts, 0, steps->count * sizeof *counts);
    for (uint64_t s = 0; s < steps->count; s++) counts[random_bits(&state) % steps->count]++;
    agreeing += judge(steps, basis, counts) == cause;
  }
  return agreeing;
}
