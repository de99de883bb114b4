/* See launch_period.h. */
#include "launch_period.h"

#include "step_finder.h"

#include <stdlib.h>
#include <string.h>

/* A loop of fewer launches is not told from chance. */
enum { SHORTEST = 3, CANDIDATES = 400 };
/* Periods whose match is this close to the best one say the same. */
#define SAME_MATCH 0.005

typedef struct candidate {
  uint64_t period, votes;
} candidate;

/* The share of launches that equal the one a period later. Gives up below what a loop needs. */
static double match_of(const launch_sequence *all, uint64_t period) {
  const uint64_t pairs = all->count - period;
  const uint64_t most = (uint64_t)((1 - STEP_FINDER_MATCH) * (double)pairs);
  uint64_t unlike = 0;
  for (uint64_t i = 0; i < pairs && unlike <= most; i++)
    unlike += all->launches[i].symbol != all->launches[i + period].symbol;
  return unlike > most ? 0 : 1 - (double)unlike / (double)pairs;
}

static int more_votes(const void *a, const void *b) {
  const candidate *first = a, *second = b;
  if (first->votes != second->votes) return first->votes < second->votes ? 1 : -1;
  return first->period > second->period ? 1 : first->period < second->period ? -1 : 0;
}

/* A symbol that comes k times a period comes again k places on: each symbol votes for the distance to its next, its 2nd
 * next, ... place. Symbols that are rare say the most, so votes count one over how often the symbol comes. */
static candidate *vote(const launch_sequence *all, uint64_t *found) {
  const uint64_t longest = all->count / STEP_FINDER_REPEATS;
  uint32_t *counts = calloc(all->symbols + 1, sizeof *counts);
  uint64_t *votes = calloc(longest + 1, sizeof *votes);
  uint64_t *places = calloc(all->count + 1, sizeof *places);
  uint64_t *next = calloc(all->symbols + 1, sizeof *next);
  candidate *out = NULL;
  *found = 0;
  if (!counts || !votes || !places || !next) goto done;
  for (uint64_t i = 0; i < all->count; i++) counts[all->launches[i].symbol]++;
  for (uint32_t i = 0; i + 1 < all->symbols; i++) next[i + 1] = next[i] + counts[i];
  for (uint64_t i = 0; i < all->count; i++) places[next[all->launches[i].symbol]++] = i;
  for (uint64_t at = 0, end; at < all->count; at = end) {
    const uint32_t times = counts[all->launches[places[at]].symbol];
    end = at + times;
    const uint64_t weight = UINT64_C(1000000) / times + 1;
    const uint64_t furthest = times / STEP_FINDER_REPEATS + 1;
    for (uint64_t step = 1; step <= furthest && step <= 64; step++)
      for (uint64_t i = at; i + step < end && i < at + 64; i++) {
        const uint64_t distance = places[i + step] - places[i];
        if (distance <= longest) votes[distance] += weight;
      }
    /* Once a step: the k-th next place, k being a divisor of how often it comes. */
    for (uint64_t steps = STEP_FINDER_REPEATS; steps <= 64 && steps <= times; steps++) {
      if (times % steps) continue;
      const uint64_t distance = places[at + times / steps] - places[at];
      if (distance <= longest) votes[distance] += weight;
    }
  }
  out = calloc(longest + 1, sizeof *out);
  for (uint64_t i = SHORTEST; out && i <= longest; i++)
    if (votes[i]) out[(*found)++] = (candidate){i, votes[i]};
  if (out) qsort(out, *found, sizeof *out, more_votes);
done:
  free(counts);
  free(votes);
  free(places);
  free(next);
  return out;
}

/* Of the periods that agree as well as the best one, the shortest: the others are multiples of it. */
static void choose(const launch_sequence *all, const candidate *rows, uint64_t count, launch_period *out) {
  double best = 0, matches[CANDIDATES];
  if (count > CANDIDATES) count = CANDIDATES;
  for (uint64_t i = 0; i < count; i++) {
    matches[i] = match_of(all, rows[i].period);
    if (matches[i] > best) best = matches[i];
  }
  for (uint64_t i = 0; i < count; i++) {
    if (matches[i] < STEP_FINDER_MATCH || matches[i] < best - SAME_MATCH) continue;
    if (out->length && rows[i].period >= out->length) continue;
    out->length = rows[i].period;
    out->match = matches[i];
  }
}

/* Behind which launch of the period the optimizer ends: of several places, the one with the most launches around it.
 * False: it has no optimizer, or one that is most of it, which is then the program itself. */
static bool behind_optimizer(const launch_sequence *all, uint64_t period, uint64_t *phase) {
  uint64_t best = 0, optimizers = 0;
  bool found = false;
  for (uint64_t i = 0; i < period; i++) optimizers += all->launches[i].optimizer;
  if (!optimizers || 2 * optimizers > period + 2) return false;
  for (uint64_t i = 0; i < period; i++) {
    if (!all->launches[i].optimizer || all->launches[i + 1].optimizer) continue;
    uint64_t quiet = 1; /* launches from here to the next optimizer's */
    while (quiet < period && !all->launches[i + quiet].optimizer) quiet++;
    if (quiet <= best) continue;
    best = quiet;
    *phase = (i + 1) % period;
    found = true;
  }
  return found;
}

/* A copy from the host whose size comes equally often in each whole period, and never outside one place of it. */
static bool at_copy(const launch_sequence *all, uint64_t period, uint64_t *phase) {
  const uint64_t repeats = all->count / period;
  for (uint64_t i = 0; i < all->copy_count; i++) {
    const launch_copy *copy = &all->copies[i];
    if (copy->before >= period) break;
    uint64_t alike = 0, others = 0;
    for (uint64_t k = 0; k < all->copy_count; k++) {
      if (all->copies[k].bytes != copy->bytes || all->copies[k].before >= repeats * period) continue;
      if (all->copies[k].before % period == copy->before)
        alike++;
      else
        others++;
    }
    if (alike < repeats || others) continue;
    *phase = copy->before;
    return true;
  }
  return false;
}

pd_status launch_period_find(const launch_sequence *launches, launch_period *out) {
  *out = (launch_period){.why = "too few kernels were launched"};
  if (launches->count < (uint64_t)STEP_FINDER_REPEATS * SHORTEST) return PD_OK;
  uint64_t count;
  candidate *rows = vote(launches, &count);
  if (!rows) return PD_NO_MEMORY;
  choose(launches, rows, count, out);
  free(rows);
  out->why = "no sequence of kernels repeats three times with 95 % of them alike";
  if (!out->length) return PD_OK;
  if (behind_optimizer(launches, out->length, &out->phase) || at_copy(launches, out->length, &out->phase)) return PD_OK;
  out->why = "what repeats holds no optimizer and no copy from the host of one size; it may be a layer";
  out->length = 0;
  return PD_OK;
}
