/* See dial.h. The effect of an amount grows with it, but rarely in proportion: the first read of a step waits for the
 * device, the next ones for nothing; what a queue hides has no effect at all. So the search keeps the nearest amount
 * that is too small, from that of no injection on, and the nearest that is too large, and tries the one that a line
 * through both would have. Once it is near, a line through all that was tried says where to go: a trial weighs as much
 * as its spread and its distance from what is wanted leave it, so that no single trial decides. */
#include "dial.h"

#include <math.h>

/* Bounds of a slope, which is 1 for an effect in proportion; less or more is chance. */
#define FLAT 0.2
#define STEEP 100.0
#define SURE 2.0 /* standard errors */

enum { TRIALS = 12, REFINEMENTS = 12, POINTS = TRIALS + REFINEMENTS + 1, PAIRS_MOST = 1024 };
enum { ROUGH_PAIRS = 6, EXACT_PAIRS = 12 }; /* at least */
#define NEAR 0.3                            /* from here on exact trials are worth their time */
#define ROUGH_ERROR 0.08                    /* standard errors of the effect, over what is wanted */
#define EXACT_ERROR 0.015
#define LEAST_ERROR 0.003 /* a spread of few pairs may be smaller by chance */
#define CLOSE 0.02        /* what differs by less is not looked into further */
#define STRIDE 8.0        /* at most, where all that was tried is too small */
#define HIGH 2.0          /* what is too large by more says little of where to go */
#define SMALL 0.25        /* and so does an effect of less than this part */
#define LONGER 1.5        /* a control step that is so much longer has the injection, too */
#define NO_EFFECT 0.01
#define IN_VAIN 0.02        /* more that adds less than this part of what is wanted adds nothing */
#define ROUGH_PART (1. / 8) /* of the limit, for one trial */
#define EXACT_PART (1. / 4)
enum { PREPARED_LIMITS = 2 }; /* of time that preparing may take beside the search */

typedef struct point {
  double at, off, spread; /* amount; its effect over what is wanted, less 1; standard error of that */
} point;

typedef struct search {
  const config_dial *asked;
  const dial_source *source;
  int64_t limit_ns, until_ns, prepared_ns;
  double without_ns; /* of the last trial */
  double usual_ns;   /* a control step while no step has an injection, so that no work is beside it; 0: not measured */
  bool last;         /* there is no time for another trial */
  point best; /* the trial that is nearest to what is wanted; before the first: its amount, with `off` infinite */
  point all[POINTS];
  int count;
} search;

double dial_wanted_ns(double us, double share, double without_ns) {
  return us > 0 ? 1000 * us : without_ns * share / (1 - share);
}

static bool is_longer(const search *self) { return self->usual_ns > 0 && self->without_ns > LONGER * self->usual_ns; }

static void take_effect(search *self, const truth_effect *effect, point *out) {
  const double wanted_ns = dial_wanted_ns(self->asked->us, self->asked->share, effect->without_ns);
  self->without_ns = effect->without_ns;
  out->off = effect->added_ns / wanted_ns - 1;
  out->spread = hypot(effect->error_ns / wanted_ns, LEAST_ERROR);
}

/* Whether the steps so far had the larger or the smaller count too rarely for a mean of their own (truth_effect.h). */
static bool is_one_sided(const truth_rounds *all) {
  enum { LEAST = 5 };
  uint64_t above = 0;
  double mean = 0;
  for (uint64_t i = 0; i < all->count; i++) {
    above += all->at[i].amount > all->amount;
    mean += all->at[i].amount / (double)all->count;
  }
  return fabs(mean - all->amount) > NO_EFFECT * all->amount && (above < LEAST || all->count - above < LEAST);
}

/* What this takes comes on top of the limit, within bounds. */
static pd_status prepare(search *self, double at) {
  const dial_source *source = self->source;
  const int64_t from_ns = source->now_ns(source->user);
  const pd_status status = source->prepare ? source->prepare(source->user, at) : PD_OK;
  const int64_t took_ns = source->now_ns(source->user) - from_ns, most_ns = PREPARED_LIMITS * self->limit_ns;
  const int64_t more_ns = took_ns < most_ns - self->prepared_ns ? took_ns : most_ns - self->prepared_ns;
  self->prepared_ns += more_ns;
  self->until_ns += more_ns;
  return status;
}

/* As many pairs as the spread needs; what is far off has to be known less well. */
static pd_status measure(search *self, double at, bool exact, point *out) {
  enum { FAR = 4 };
  truth_block_pair pairs[PAIRS_MOST];
  truth_rounds all = {pairs, 0, at};
  truth_effect effect = {0};
  const int64_t part_ns = (int64_t)((double)self->limit_ns * (exact ? EXACT_PART : ROUGH_PART));
  const pd_status prepared = prepare(self, at);
  const int64_t end_ns = self->source->now_ns(self->source->user) + part_ns;
  const uint64_t least = exact ? EXACT_PAIRS : ROUGH_PAIRS;
  bool over = false;
  uint64_t next = least; /* the spread is looked at then */
  *out = (point){.at = at};
  if (prepared != PD_OK) return prepared;
  while (!over) {
    uint64_t count = 0;
    const pd_status status = self->source->pairs(self->source->user, at, pairs + all.count, &count);
    if (status != PD_OK) return status;
    all.count += count;
    const int64_t now_ns = self->source->now_ns(self->source->user);
    self->last = now_ns >= self->until_ns;
    over = self->last || (now_ns >= end_ns && all.count >= least) || all.count + DIAL_PAIRS_ONCE > PAIRS_MOST;
    if (!over && (all.count < next || is_one_sided(&all))) continue;
    next = all.count + all.count / 3;
    if (!truth_effect_of(&all, &effect)) return PD_NO_MEMORY;
    take_effect(self, &effect, out);
    if (out->spread <= fmax(exact ? EXACT_ERROR : ROUGH_ERROR, fabs(out->off) / FAR)) break;
  }
  return PD_OK;
}

/* How long a step at no injection is now. */
static pd_status measure_usual(search *self) {
  point none;
  const pd_status status = measure(self, self->asked->none, false, &none);
  if (status == PD_OK) self->usual_ns = self->without_ns;
  return status;
}

static pd_status try_amount(search *self, double at, bool exact, point *out) {
  pd_status status = measure(self, at, exact, out);
  if (status != PD_OK) return status;
  /* A control step may be longer because too much work is beside it: then the amount is too large. Other programs make
   * it longer, too: then a step without any injection is as long, so that one is measured again. */
  if (is_longer(self) && !self->last) {
    const double without_ns = self->without_ns;
    status = measure_usual(self);
    if (status != PD_OK) return status;
    self->without_ns = without_ns;
    if (is_longer(self)) out->off = 2 * HIGH;
  }
  if (self->count < POINTS) self->all[self->count++] = *out;
  if (fabs(out->off) < fabs(self->best.off)) self->best = *out;
  return PD_OK;
}

static bool is_near(const search *self) { return fabs(self->best.off) <= NEAR; }

static double larger(const config_dial *asked, const point *low) {
  const double effect = 1 + low->off, from = low->at - asked->none;
  const double times = effect > NO_EFFECT ? fmin(1 / effect, STRIDE) : STRIDE;
  return fmin(asked->none + from * times, asked->most);
}

/* A line through both ends says nothing where one has next to no effect and the other far too much, nor where it has
 * moved the same end twice. */
static double between(const config_dial *asked, const point *low, const point *high, int same) {
  const bool says_nothing = low->at > asked->none && 1 + low->off < SMALL && high->off > HIGH;
  if (says_nothing || same > 1) return (low->at + high->at) / 2;
  return low->at - low->off * (high->at - low->at) / (high->off - low->off);
}

/* Where the key is a time, what it is to take is the first to be tried. */
static pd_status first_amount(search *self, double *out) {
  const config_dial *asked = self->asked;
  double wanted = asked->start;
  if (asked->is_time) {
    const pd_status status = measure_usual(self);
    if (status != PD_OK) return status;
    wanted = 1e-3 * dial_wanted_ns(asked->us, asked->share, self->usual_ns);
  }
  *out = fmin(wanted, asked->most);
  self->best = (point){.at = *out, .off = INFINITY};
  return PD_OK;
}

static pd_status search_near(search *self, double *amount) {
  const config_dial *asked = self->asked;
  point low = {.at = asked->none, .off = -1}, high = {0}, now;
  bool has_high = false, was_low = false;
  int same = 0, vain = 0; /* how often the same end moved; how often more had no more effect */
  pd_status status = first_amount(self, amount);
  for (int i = 0; i < TRIALS && status == PD_OK && !self->last; i++) {
    status = try_amount(self, *amount, false, &now);
    if (status != PD_OK || is_near(self)) break;
    const bool is_low = now.off < 0;
    same = i && is_low == was_low ? same + 1 : 1;
    was_low = is_low;
    if (is_low && !has_high) vain = low.off > -1 && now.off < low.off + IN_VAIN ? vain + 1 : 0;
    if (is_low)
      low = now;
    else
      high = now;
    has_high = has_high || !is_low;
    const double next = has_high ? between(asked, &low, &high, same) : larger(asked, &low);
    if (next == *amount || vain > 1) break; /* all that the key takes, or that has an effect */
    *amount = next;
  }
  if (is_near(self) || !has_high) *amount = self->best.at;
  return status;
}

/* The largest amount that is surely too small and the smallest that is surely too large; what lies beyond says little
 * of where between them to go. Chance may swap them. All amounts where there are not two trials between them. */
static void bracket(const search *self, double *low, double *high) {
  const double none = self->asked->none;
  int within = 0;
  *low = none;
  *high = INFINITY;
  for (int i = 0; i < self->count; i++) {
    const point *p = &self->all[i];
    if (p->off < -SURE * p->spread) *low = fmax(*low, p->at);
    if (p->off > SURE * p->spread) *high = fmin(*high, p->at);
  }
  const double swapped = fmin(*low, *high);
  *high = fmax(*low, *high);
  *low = swapped;
  for (int i = 0; i < self->count; i++) within += self->all[i].at >= *low && self->all[i].at <= *high;
  if (within > 1) return;
  *low = none;
  *high = INFINITY;
}

/* Where a line through the trials of the bracket crosses what is wanted, the standard error of the effect there, and
 * how steep it is: a slope of 1 is one in proportion. The amount at which nothing is injected is a trial, too. */
static double cross(const search *self, double *spread, double *slope) {
  const double none = self->asked->none, unit = self->best.at - none;
  double low, high;
  bracket(self, &low, &high);
  double w = low > none ? 0 : 1, wx = 0, wy = -w, wxx = 0, wxy = 0;
  for (int i = 0; i < self->count; i++) {
    const point *p = &self->all[i];
    if (p->at < low || p->at > high) continue;
    const double x = (p->at - none) / unit, weight = 1 / (p->spread * p->spread + pow(p->off, 4));
    w += weight;
    wx += weight * x;
    wy += weight * p->off;
    wxx += weight * x * x;
    wxy += weight * x * p->off;
  }
  const double x = wx / w, y = wy / w, across = fmax(wxx - wx * x, 1e-9);
  *slope = fmin(fmax((wxy - wx * y) / across, FLAT), STEEP);
  const double at = fmin(fmax(none + (x - y / *slope) * unit, low), high), moved = (at - none) / unit - x;
  *spread = sqrt(1 / w + moved * moved / across);
  return fmin(fmin(at, none + 2 * unit), self->asked->most);
}

pd_status dial_find(const config_dial *asked, const dial_source *source, int64_t limit_ns, double *amount) {
  search self = {.asked = asked, .source = source, .limit_ns = limit_ns, .best = {.off = INFINITY}};
  point now = {0};
  self.until_ns = source->now_ns(source->user) + limit_ns;
  pd_status status = search_near(&self, amount);
  for (int i = 0; i < REFINEMENTS && status == PD_OK && is_near(&self); i++) {
    double spread, slope;
    const double next = cross(&self, &spread, &slope);
    const double moves = slope * fabs(next / *amount - 1);
    /* The last trial itself was right, and all of them together say the same. */
    if (i && fabs(now.off) <= CLOSE && spread <= EXACT_ERROR && moves <= CLOSE) break;
    *amount = next;
    if (self.last) break;
    status = try_amount(&self, *amount, true, &now);
  }
  return status == PD_OK ? prepare(&self, *amount) : status;
}
