/* See launch_period.h. */
#include "launch_period.h"

#include "alike_steps.h"
#include "step_finder.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* A step is complete if this share of its launches matches. */
#define WHOLE 0.9
/* With this share no better begin is looked for. */
#define ENOUGH 0.99

enum { CANDIDATES = 400, SAMPLES = 2000 };
/* Periods whose match is this close to the best one say the same. */
#define SAME_MATCH 0.005

typedef struct candidate {
  uint64_t period, votes;
} candidate;

/* The launches [begin, end); the share `match` of them equals the one a period later. */
typedef struct stretch {
  uint64_t begin, end;
  double match;
} stretch;

/* The part of the sequence in which launches equal the one a period later: the part with the largest sum, where a
 * launch that is equal adds 1, and one that is not takes away so much that a match of STEP_FINDER_MATCH adds up to 0.
 */
static stretch repeating(const launch_sequence *all, uint64_t period) {
  const int64_t unlike_costs = (int64_t)(STEP_FINDER_MATCH / (1 - STEP_FINDER_MATCH) + 0.5);
  stretch out = {.begin = 0};
  uint64_t begin = 0, unlike = 0;
  int64_t sum = 0, best = 0;
  for (uint64_t i = 0; i + period < all->count; i++) {
    if (sum <= 0) sum = 0, begin = i, unlike = 0;
    const bool equal = all->launches[i].symbol == all->launches[i + period].symbol;
    sum += equal ? 1 : -unlike_costs;
    unlike += !equal;
    if (sum <= best) continue;
    best = sum;
    out = (stretch){begin, i + 1, 1 - (double)unlike / (double)(i + 1 - begin)};
  }
  return out;
}

/* A training loop that other work interrupts again and again, such as a validation after each epoch: how many launches
 * lie in parts that repeat STEP_FINDER_BLOCK times and more. */
static uint64_t in_blocks(const launch_sequence *all, uint64_t period) {
  const int64_t unlike_costs = (int64_t)(STEP_FINDER_MATCH / (1 - STEP_FINDER_MATCH) + 0.5);
  uint64_t launches = 0, begin = 0, end = 0;
  int64_t sum = 0, best = 0;
  for (uint64_t i = 0; i + period <= all->count; i++) {
    const bool is_last = i + period == all->count;
    const bool equal = !is_last && all->launches[i].symbol == all->launches[i + period].symbol;
    if (sum <= 0) sum = best = 0, begin = end = i;
    sum += equal ? 1 : -unlike_costs;
    if (sum > best) best = sum, end = i + 1;
    if (!is_last && sum > 0) continue;
    if (end - begin + period >= STEP_FINDER_BLOCK * period) launches += end - begin + period;
  }
  return launches;
}

static uint64_t launches_of(const stretch *loop, uint64_t period) { return loop->end + period - loop->begin; }

static bool is_loop(const launch_sequence *all, const stretch *loop, uint64_t period) {
  const uint64_t launches = launches_of(loop, period);
  return loop->match >= STEP_FINDER_MATCH && launches >= STEP_FINDER_REPEATS * period && 2 * launches >= all->count;
}

/* Only with an optimizer, since layers come in blocks, too. */
static bool is_interrupted_loop(const launch_sequence *all, const stretch *loop, uint64_t period) {
  return loop->match >= STEP_FINDER_MATCH && launches_of(loop, period) >= STEP_FINDER_BLOCK * period &&
         2 * in_blocks(all, period) >= all->count;
}

/* Whether launches picked by chance equal the one a period later so often that the sequence may be a loop. */
static bool may_repeat(const launch_sequence *all, uint64_t period) {
  const uint64_t pairs = all->count - period;
  if (pairs < 4 * (uint64_t)SAMPLES) return true;
  uint64_t random = 1, equal = 0;
  for (int i = 0; i < SAMPLES; i++) {
    random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    const uint64_t at = (random >> 32) * pairs >> 32;
    equal += all->launches[at].symbol == all->launches[at + period].symbol;
  }
  return 5 * equal >= 2 * (uint64_t)SAMPLES; /* 0.4: a loop that fills half of the sequence has about 0.475 */
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
    /* A symbol that comes k times a step has its k-th next place one step away: each k that divides its total is tried.
     */
    for (uint64_t steps = STEP_FINDER_REPEATS; steps <= 64 && steps <= times; steps++) {
      if (times % steps) continue;
      const uint64_t distance = places[at + times / steps] - places[at];
      if (distance <= longest) votes[distance] += weight;
    }
  }
  out = calloc(longest + 1, sizeof *out);
  for (uint64_t i = 1; out && i <= longest; i++)
    if (votes[i]) out[(*found)++] = (candidate){i, votes[i]};
  if (out) qsort(out, *found, sizeof *out, more_votes);
done:
  free(counts);
  free(votes);
  free(places);
  free(next);
  return out;
}

static int shorter(const void *a, const void *b) {
  const uint64_t first = ((const candidate *)a)->period, second = ((const candidate *)b)->period;
  return first > second ? 1 : first < second ? -1 : 0;
}

static bool is_multiple(const candidate *rows, const stretch *loops, uint64_t index) {
  for (uint64_t i = 0; i < index; i++)
    if (loops[i].match >= 1 - SAME_MATCH / 5 && rows[index].period % rows[i].period == 0) return true;
  return false;
}

/* A launch in the middle of the loop, `quarters` of its way from the beginning, that is whole periods after that. */
static uint64_t within(const stretch *loop, uint64_t period, uint64_t quarters) {
  return loop->begin + launches_of(loop, period) / period * quarters / 4 * period;
}

/* The launch of the period after which the optimizer ends. There may be several places: the one with the most
 * launches around it is taken. False: there is no optimizer, or nearly all launches are its own. */
static bool after_optimizer(const launch_at *from, uint64_t period, uint64_t *phase) {
  uint64_t best = 0, optimizers = 0;
  bool found = false;
  for (uint64_t i = 0; i < period; i++) optimizers += from[i].optimizer;
  if (!optimizers || 2 * optimizers > period + 2) return false;
  for (uint64_t i = 0; i < period; i++) {
    if (!from[i].optimizer || from[(i + 1) % period].optimizer) continue;
    uint64_t quiet = 1; /* launches from here to the next optimizer's */
    while (quiet < period && !from[(i + quiet) % period].optimizer) quiet++;
    if (quiet <= best) continue;
    best = quiet;
    found = true;
    uint64_t copies = 0; /* of results, behind the optimizer: all of the launches may be some */
    while (copies < period && from[(i + 1 + copies) % period].to_host) copies++;
    *phase = (i + 1 + copies) % period;
  }
  return found;
}

/* An optimizer in each period: in some of them, it may be one of the launches that come now and then. */
static bool has_optimizer(const launch_sequence *all, const stretch *loop, uint64_t period) {
  uint64_t phase;
  for (uint64_t quarters = 1; quarters <= 3; quarters++)
    if (!after_optimizer(all->launches + within(loop, period, quarters), period, &phase)) return false;
  return true;
}

/* The shortest period that holds an optimizer. Without one, of the periods that agree as well as the best one, the
 * shortest: the others are multiples of it. */
static void choose(const launch_sequence *all, candidate *rows, uint64_t count, launch_period *out, stretch *loop) {
  stretch loops[CANDIDATES] = {{.begin = 0}};
  double best = 0;
  uint64_t chosen = count = count < CANDIDATES ? count : CANDIDATES;
  qsort(rows, count, sizeof *rows, shorter);
  for (uint64_t i = 0; i < count; i++) {
    if (is_multiple(rows, loops, i) || !may_repeat(all, rows[i].period)) continue;
    const stretch found = repeating(all, rows[i].period);
    const bool whole = is_loop(all, &found, rows[i].period);
    if (!whole && (chosen < count || !is_interrupted_loop(all, &found, rows[i].period))) continue;
    const bool optimizer = chosen == count && has_optimizer(all, &found, rows[i].period);
    if (!whole && !optimizer) continue;
    loops[i] = found;
    if (found.match > best) best = found.match;
    if (optimizer) chosen = i;
  }
  for (uint64_t i = 0; i < count && chosen == count; i++)
    if (loops[i].match >= STEP_FINDER_MATCH && loops[i].match >= best - SAME_MATCH) chosen = i;
  if (chosen == count) return;
  out->length = rows[chosen].period;
  out->match = loops[chosen].match;
  *loop = loops[chosen];
}

/* ---- where a step begins: the launch that is `phase` after `from`, a launch of the loop ---- */

/* A copy from the host whose size comes in each period of the loop, and as good as never outside one place of it. */
static bool at_copy(const launch_sequence *all, const stretch *loop, uint64_t from, uint64_t period, uint64_t *phase) {
  enum { MOST = 200 }; /* of the copies of a period, those that are looked at: each is held against all others */
  const uint64_t end = loop->end + period, repeats = launches_of(loop, period) / period;
  for (uint64_t i = 0, seen = 0; i < all->copy_count && seen < MOST; i++) {
    const launch_copy *copy = &all->copies[i];
    if (copy->before < from) continue;
    if (copy->before >= from + period) break;
    seen++;
    uint64_t alike = 0, others = 0;
    for (uint64_t k = 0; k < all->copy_count; k++) {
      const launch_copy *other = &all->copies[k];
      if (other->bytes != copy->bytes || other->before < loop->begin || other->before >= end) continue;
      if (other->before % period == copy->before % period)
        alike++;
      else
        others++;
    }
    if (alike + 1 < repeats || 20 * others > alike) continue;
    *phase = copy->before - from;
    return true;
  }
  return false;
}

/* Where a model does not fit into the device's memory, each layer's weights are copied from the host before it runs:
 * more copies and bytes than a batch has, and they take longer than the layer's kernels. */
static bool copies_weights(const launch_sequence *all, const stretch *loop, uint64_t period) {
  enum { BATCH_COPIES = 4, LAYER_BYTES = 32 << 20 }; /* such as tokens, a mask, positions and labels */
  const uint64_t end = loop->end + period, repeats = launches_of(loop, period) / period;
  uint64_t copies = 0, bytes = 0;
  int64_t copied_ns = 0, launched_ns = 0;
  for (uint64_t i = 0; i < all->copy_count; i++) {
    if (all->copies[i].before < loop->begin || all->copies[i].before >= end) continue;
    copies++;
    bytes += all->copies[i].bytes;
    copied_ns += all->copies[i].device_ns;
  }
  for (uint64_t i = loop->begin; i < end; i++) launched_ns += all->launches[i].device_ns;
  return copies > BATCH_COPIES * repeats && bytes > LAYER_BYTES * repeats && copied_ns > launched_ns;
}

static int by_size(const void *a, const void *b) {
  const uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
  return first > second ? 1 : first < second ? -1 : 0;
}

/* Behind the longest pause of the host, by the median of some periods; where all are alike, where the loop begins. */
static void behind_pause(const launch_sequence *all, const stretch *loop, uint64_t from, uint64_t period,
                         uint64_t *phase) {
  enum { PERIODS = 15 };
  const uint64_t first = (period - (from - loop->begin) % period) % period;
  uint32_t longest = 0;
  *phase = first;
  for (uint64_t i = 0; i < period; i++) {
    const uint64_t place = (first + i) % period;
    uint32_t gaps[PERIODS], count = 0;
    for (uint64_t at = from + place; count < PERIODS && at < loop->end + period; at += period)
      gaps[count++] = all->launches[at].gap_ns;
    if (!count) continue;
    qsort(gaps, count, sizeof *gaps, by_size);
    if (gaps[count / 2] <= longest) continue;
    longest = gaps[count / 2];
    *phase = place;
  }
}

/* What repeats is a step, and not a layer of one, if it holds what only a step has, or repeats more often than any
 * network has layers, without anything between. */
static bool find_phase(const launch_sequence *all, const stretch *loop, uint64_t from, uint64_t period,
                       uint64_t *phase) {
  if (after_optimizer(all->launches + from, period, phase)) return true;
  if (!copies_weights(all, loop, period) && at_copy(all, loop, from, period, phase)) return true;
  if (launches_of(loop, period) / period < STEP_FINDER_MANY || loop->match < STEP_FINDER_MANY_MATCH || period < 3)
    return false;
  behind_pause(all, loop, from, period, phase);
  return true;
}

/* ---- the steps ---- */

typedef struct walk {
  const launch_sequence *all;
  const launch_at *model; /* the launches of one step */
  uint64_t period;
  stretch loop; /* it ends after its last launch */
} walk;

/* The share of the first `count` launches of a step that might begin at `at` that is the model's; 1 at the end. */
static double likeness(const walk *self, uint64_t at, uint64_t count) {
  uint64_t equal = 0, i = 0;
  if (count > self->period) count = self->period;
  for (; i < count && at + i < self->all->count; i++)
    equal += self->all->launches[at + i].symbol == self->model[i].symbol;
  return i ? (double)equal / (double)i : 1;
}

/* Whether a step may begin at `begin` and end at `end`: in the loop anything may come in between, and around it the
 * steps go on as long as they are whole. */
static bool may_be_step(const walk *self, uint64_t begin, uint64_t end) {
  return (begin >= self->loop.begin && end <= self->loop.end) || likeness(self, begin, self->period) >= WHOLE;
}

/* Around launch `usual`, between `low` and `high`, the launch from which a period is most like the model; of equals the
 * nearest. It has to begin just as the model does. */
static uint64_t most_alike(const walk *self, uint64_t usual, uint64_t low, uint64_t high) {
  enum { HEAD = 64 };
  uint64_t found = usual;
  double best = WHOLE;
  for (uint64_t away = 1; away <= 4 * self->period; away++) {
    const uint64_t places[] = {usual + away, usual - away};
    for (int i = 0; i < 2; i++) {
      if (places[i] < low || places[i] >= high || places[i] + self->period > self->all->count) continue;
      if (likeness(self, places[i], HEAD) < 1) continue;
      const double alike = likeness(self, places[i], self->period);
      if (alike > best) best = alike, found = places[i];
    }
    if (best >= ENOUGH) break;
  }
  return found;
}

/* Where the step after the one that begins at `at` begins, or with `back` the one before it: a period away, but for
 * launches that came in between or stayed out. UINT64_MAX: there is none. */
static uint64_t neighbour(const walk *self, uint64_t at, bool back) {
  const uint64_t period = self->period, count = self->all->count;
  if (back ? at < period : at + period > count) return UINT64_MAX;
  uint64_t found = back ? at - period : at + period;
  if (likeness(self, found, period) < 0.75) found = most_alike(self, found, back ? 0 : at + 1, back ? at : count);
  return may_be_step(self, back ? found : at, back ? at : found) ? found : UINT64_MAX;
}

static pd_status take_steps(const walk *self, uint64_t at, launch_period *out) {
  uint64_t room = 0, used = 0;
  for (uint64_t before = at; before != UINT64_MAX; before = neighbour(self, at, true)) at = before;
  for (; at != UINT64_MAX; at = neighbour(self, at, false)) {
    if (!PD_ARRAY_FIT(out->starts, room, used + 1)) return PD_NO_MEMORY;
    out->starts[used++] = at;
  }
  out->count = used - 1;
  return PD_OK;
}

pd_status launch_period_find(const launch_sequence *launches, launch_period *out) {
  *out = (launch_period){.why = "too few kernels were launched"};
  if (launches->count < STEP_FINDER_REPEATS) return PD_OK;
  uint64_t count, phase;
  stretch loop = {.begin = 0};
  candidate *rows = vote(launches, &count);
  if (!rows) return PD_NO_MEMORY;
  choose(launches, rows, count, out, &loop);
  free(rows);
  out->why = "no sequence of kernels repeats three times with 95 % of them alike";
  if (!out->length) return alike_steps_find(launches, out);
  const uint64_t from = within(&loop, out->length, 2);
  if (!find_phase(launches, &loop, from, out->length, &phase)) {
    out->why = "what repeats holds no optimizer and no copy of a batch from the host; it may be a layer";
    out->length = 0;
    return PD_OK;
  }
  const uint64_t end = loop.end + out->length;
  uint64_t at = from + phase;
  if (at + out->length > end) at -= out->length;
  const walk steps = {launches, launches->launches + at, out->length, {loop.begin, end, loop.match}};
  pd_status status = take_steps(&steps, at, out);
  if (status == PD_OK) status = alike_steps_divide(launches, out);
  if (status == PD_OK) return PD_OK;
  free(out->starts);
  *out = (launch_period){.why = "no memory"};
  return status;
}
