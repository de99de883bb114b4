/* See rank_judge.h. */
#include "rank_judge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = {"none",        "straggler",  "comm_bound", "comm_not_overlapped",
                                   "uneven_work", "slow_device"};

const char *ranks_verdict_key(ranks_verdict of) { return keys[of]; }

bool ranks_verdict_is_cause(const char *key) {
  for (int i = RANKS_COMM_BOUND; i <= RANKS_UNEVEN; i++)
    if (strcmp(keys[i], key) == 0) return true;
  return false;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* What `of` has more of than the others in the middle; `cause` VERDICT_none: computing. */
static double more_than_others(const rank_summary *self, uint32_t of, uint32_t cause, double *scratch) {
  uint32_t count = 0;
  double own = 0;
  for (uint32_t r = 0; r < self->count; r++) {
    const rank_side *side = self->ranks[r].side;
    const double value = cause == VERDICT_none ? side->compute_ns : side->idle_ns[cause];
    if (r == of)
      own = value;
    else
      scratch[count++] = value;
  }
  qsort(scratch, count, sizeof *scratch, by_value);
  return own - (scratch[(count - 1) / 2] + scratch[count / 2]) / 2;
}

/* Whether all devices were given the same to do, as far as the traces say. */
static bool is_same_work(const rank_summary *self) {
  for (uint32_t r = 0; r < self->count; r++)
    if (!self->ranks[r].side->work || self->ranks[r].side->work != self->ranks[0].side->work) return false;
  return true;
}

/* What it is called that the device of one rank computes longer. Ranks that share the cores of a host slow each other
 * down: there the same work takes longer on one of them by chance. */
static ranks_verdict longer_verdict(const rank_summary *self) {
  if (!is_same_work(self)) return RANKS_UNEVEN;
  return self->ranks[0].side->is_other ? RANKS_NONE : RANKS_SLOW_DEVICE;
}

static double least_share(const rank_summary *self) {
  return self->ranks[0].side->is_other ? RANKS_LEAST_OTHER : RANKS_LEAST;
}

static void find_cause(rank_summary *self, double *scratch) {
  const rank_side *late = self->ranks[self->straggler].side;
  const double least = least_share(self) / 2 * self->step_ns;
  self->cause = VERDICT_COUNT;
  for (uint32_t c = 0; c <= VERDICT_none; c++) {
    if (c == VERDICT_none ? longer_verdict(self) == RANKS_NONE : !late->has_causes) continue;
    const double more = more_than_others(self, self->straggler, c, scratch);
    /* A device of threads that has more work is idle for longer, too: it waits for a core between its kernels. */
    const bool comes_first = c == VERDICT_none && late->is_other;
    if ((more <= self->cause_ns && !comes_first) || more < least) continue;
    self->cause = c;
    self->cause_ns = more;
  }
}

/* What the step would be shorter by if the rank were as fast as the slowest of the others. */
static double gain_without(const rank_summary *self, uint32_t late) {
  double need = 0;
  for (uint32_t r = 0; r < self->count; r++)
    if (r != late) need = fmax(need, self->ranks[r].need_ns);
  return fmax(self->step_ns - need, 0);
}

/* What a rank's host and device need for a step, of which recording costs the host `cost_ns`; with or without the
 * transfers that nothing hides. */
static double unrecorded_ns(const rank_figures *of, double cost_ns, bool transfers) {
  const double device = of->side->compute_ns + (transfers ? of->exposed_transfer_ns : 0);
  return fmax(of->host_ns - cost_ns, device);
}

/* The most that any rank but `but` needs. */
static double most_unrecorded_ns(const rank_summary *self, uint32_t but, double cost_ns, bool transfers) {
  double most = 0;
  for (uint32_t r = 0; r < self->count; r++)
    if (r != but) most = fmax(most, unrecorded_ns(&self->ranks[r], cost_ns, transfers));
  return most;
}

/* What the step would be shorter by, if the device of `late` computed no longer than those of the others. Its host
 * stays as it is: a host that needs longer than the others does so as recorded, too. */
static double gain_of_device(const rank_summary *self, uint32_t late, double cost_ns, bool transfers) {
  const double device = self->ranks[late].side->compute_ns + (transfers ? self->ranks[late].exposed_transfer_ns : 0);
  const double rest = fmax(most_unrecorded_ns(self, late, cost_ns, transfers), self->ranks[late].host_ns - cost_ns);
  return fmax(device - rest, 0);
}

/* What the devices hold up, where recording costs each host `cost_ns` of a step. `doubt_ns`: how much of that may be
 * chance. */
static void judge_devices(rank_summary *self, double cost_ns, double doubt_ns) {
  const uint32_t nobody = self->count;
  uint32_t late = 0;
  for (uint32_t r = 1; r < self->count; r++)
    if (self->ranks[r].side->compute_ns > self->ranks[late].side->compute_ns) late = r;
  const double step = most_unrecorded_ns(self, nobody, cost_ns, true),
               work = most_unrecorded_ns(self, nobody, cost_ns, false);
  const double uneven = fmin(gain_of_device(self, late, cost_ns, true), gain_of_device(self, late, cost_ns, false));
  const double least = least_share(self) * step + doubt_ns;
  const bool is_uneven = uneven >= least && longer_verdict(self) != RANKS_NONE;
  self->hidden = is_uneven ? longer_verdict(self) : step - work >= least ? RANKS_NOT_OVERLAPPED : RANKS_NONE;
  self->straggler = is_uneven ? late : self->straggler;
  self->share = self->hidden != RANKS_NONE ? (is_uneven ? uneven : step - work) / step : 0;
  self->unrecorded_ns = step;
}

/* As recorded the ranks are balanced. Recording slows the hosts down: without it the devices may set the step. */
static void judge_unrecorded(rank_summary *self, double *scratch) {
  double cost = 0;
  for (uint32_t r = 0; r < self->count; r++) cost += self->ranks[r].side->added_host_ns / self->count;
  if (cost <= 0 || (self->of && self->of != self->count)) return;
  judge_devices(self, RANKS_COST_USUAL * cost, RANKS_COST_DOUBT * RANKS_COST_USUAL * cost);
  if (self->hidden != RANKS_NONE) {
    self->is_possible = true;
    self->verdict = self->hidden;
  } else {
    judge_devices(self, RANKS_COST_MOST * cost, 0);
    self->share = 0;
  }
  if (self->hidden != RANKS_UNEVEN && self->hidden != RANKS_SLOW_DEVICE) return;
  self->cause = VERDICT_none;
  self->cause_ns = more_than_others(self, self->straggler, VERDICT_none, scratch);
}

/* Whether the rank `self->straggler` holds up the others, whose waits for any rank are `caused_ns` together; finds its
 * cause. Ranks that share the cores of a host compute more slowly while the late one keeps a core busy, so that the
 * step without it looks longer than it is, and `gain_ns` smaller. There what the rank does more of than the others
 * counts as well, and a rank without anything of that kind is not named. */
static bool comes_late(rank_summary *self, double caused_ns, double gain_ns, double *scratch) {
  const rank_figures *late = &self->ranks[self->straggler];
  const double least = least_share(self) * self->step_ns;
  if (late->caused_ns < least || late->caused_ns < RANKS_CAUSED * caused_ns ||
      late->steps_last < RANKS_STEPS_LAST * self->steps || gain_ns < RANKS_LEAST * self->step_ns ||
      gain_ns <= late->side->added_ns)
    return false;
  find_cause(self, scratch);
  return late->side->is_other ? self->cause < VERDICT_COUNT && fmax(gain_ns, self->cause_ns) >= least
                              : gain_ns >= least;
}

void rank_judge(rank_summary *self, double *scratch) {
  double caused = 0, transfer = 0,
         exposed = INFINITY; /* exposed: where it is least, since a rank that waits computes nothing */
  for (uint32_t r = 0; r < self->count; r++) {
    caused += self->ranks[r].caused_ns;
    transfer += self->ranks[r].transfer_ns / self->count;
    exposed = fmin(exposed, self->ranks[r].exposed_transfer_ns);
    if (self->ranks[r].caused_ns > self->ranks[self->straggler].caused_ns) self->straggler = r;
  }
  if (!self->matched || self->steps < RANKS_STEPS_LEAST || self->step_ns <= 0) return;
  const double least = least_share(self) * self->step_ns, gain = gain_without(self, self->straggler);
  const bool is_whole = !self->of || self->of == self->count;
  const bool is_late = comes_late(self, caused, gain, scratch);
  /* The one that makes the step longer: a rank that is always a little late is not what to begin with. */
  if (is_whole && exposed >= least && !(is_late && gain >= exposed)) {
    self->verdict = 1 - exposed / transfer < RANKS_OVERLAPPED ? RANKS_NOT_OVERLAPPED : RANKS_COMM_BOUND;
    self->share = exposed / self->step_ns;
    self->late_ns = is_late ? gain : 0;
  } else if (is_late) {
    self->verdict = self->cause == VERDICT_none ? longer_verdict(self) : RANKS_STRAGGLER;
    self->share = gain / self->step_ns;
  } else {
    judge_unrecorded(self, scratch);
  }
}
