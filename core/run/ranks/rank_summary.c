/* See rank_summary.h. */
#include "rank_summary.h"

#include "rank_judge.h"

#include <pdhost/array.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct summing {
  rank_summary *out;
  const rank_clock *clock;      /* or NULL */
  uint32_t *at;                 /* by rank: next collective */
  double *step_caused;          /* by rank, of the step in hand */
  intervals *waits, *transfers; /* by rank */
} summing;

static int by_rank(const void *a, const void *b) {
  const rank_figures *x = a, *y = b;
  return (x->side->rank > y->side->rank) - (x->side->rank < y->side->rank);
}

static const rank_collective *next_of(const summing *self, uint32_t rank) {
  const rank_side *side = self->out->ranks[rank].side;
  return self->at[rank] < side->collective_count ? &side->collectives[self->at[rank]] : NULL;
}

static bool has_step(const rank_side *self, rank_step_key key) {
  for (uint32_t i = 0; i < self->step_count; i++)
    if (!rank_step_compare(self->steps[i].key, key)) return true;
  return false;
}

/* The rank that causes the most in the step in hand; the step is over. */
static void end_step(summing *self) {
  uint32_t most = 0;
  for (uint32_t r = 1; r < self->out->count; r++)
    if (self->step_caused[r] > self->step_caused[most]) most = r;
  if (self->step_caused[most] > 0) self->out->ranks[most].steps_last++;
  memset(self->step_caused, 0, self->out->count * sizeof *self->step_caused);
}

static bool add_message(rank_summary *self, const rank_collective *at, int64_t transfer) {
  uint32_t i = 0;
  while (i < self->message_count &&
         (self->messages[i].bytes != at->bytes || strcmp(self->messages[i].name, at->name) != 0))
    i++;
  if (i == self->message_count) {
    if (!PD_ARRAY_FIT(self->messages, self->message_room, self->message_count + 1)) return false;
    self->messages[self->message_count++] = (rank_message){.name = at->name, .bytes = at->bytes};
  }
  self->messages[i].count++;
  self->messages[i].transfer_ns += (double)transfer;
  return true;
}

static bool is_gather(const char *name) { return strcasestr(name, "allgather") || strcasestr(name, "all_gather"); }

/* What nccl-tests multiply the algorithm's bandwidth with; 0: not known of such a collective. */
static double bus_factor(const char *name, double ranks) {
  if (strcasestr(name, "allreduce") || strcasestr(name, "all_reduce")) return 2 * (ranks - 1) / ranks;
  if (is_gather(name) || strcasestr(name, "reducescatter") || strcasestr(name, "reduce_scatter"))
    return (ranks - 1) / ranks;
  return strcasestr(name, "broadcast") ? 1 : 0;
}

static int by_bytes(const void *a, const void *b) {
  const rank_message *x = a, *y = b;
  return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static void finish_messages(rank_summary *self) {
  if (self->message_count) qsort(self->messages, self->message_count, sizeof *self->messages, by_bytes);
  for (uint32_t i = 0; i < self->message_count; i++) {
    rank_message *at = &self->messages[i];
    const uint32_t members = rank_collective_members(at->name);
    const double ranks = members ? members : self->of ? self->of : self->count;
    /* A rank gives its part to an all-gather; nccl-tests count the parts of all. */
    const double bytes = (double)at->bytes * (is_gather(at->name) ? ranks : 1);
    if (at->transfer_ns > 0) at->algorithm = bytes * (double)at->count / at->transfer_ns;
    at->bus = at->algorithm * bus_factor(at->name, ranks);
  }
}

/* Whether the rank's next collective is this one. */
static bool is_at(const summing *self, uint32_t rank, const rank_collective *key) {
  const rank_collective *at = next_of(self, rank);
  return at && rank_collective_compare(at, key) == 0;
}

/* By the common clock a rank waits from its start to that of the last one. */
static void compare_skew(summing *self, const rank_collective *key, uint32_t members, int64_t transfer) {
  rank_summary *out = self->out;
  int64_t latest = INT64_MIN;
  for (uint32_t r = 0; r < out->count; r++) {
    if (!is_at(self, r, key)) continue;
    const int64_t start = rank_clock_common(self->clock, r, next_of(self, r)->start_ns);
    if (start > latest) latest = start;
  }
  for (uint32_t r = 0; r < out->count; r++) {
    if (!is_at(self, r, key)) continue;
    const rank_collective *at = next_of(self, r);
    const int64_t wait = at->end_ns - at->start_ns - transfer;
    out->skew_difference_ns +=
        fabs((double)(latest - rank_clock_common(self->clock, r, at->start_ns) - wait)) / members;
  }
}

/* One collective that all its ranks are at. */
static bool take_collective(summing *self, const rank_collective *key, uint32_t members) {
  rank_summary *out = self->out;
  int64_t transfer = INT64_MAX;
  uint32_t last = 0;
  double waits = 0;
  bool ok = true;
  for (uint32_t r = 0; r < out->count; r++) {
    if (!is_at(self, r, key)) continue;
    const rank_collective *at = next_of(self, r);
    if (at->end_ns - at->start_ns >= transfer) continue;
    transfer = at->end_ns - at->start_ns;
    last = r;
  }
  for (uint32_t r = 0; r < out->count && ok; r++) {
    if (!is_at(self, r, key)) continue;
    const rank_collective *at = next_of(self, r);
    const int64_t wait = at->end_ns - at->start_ns - transfer;
    out->ranks[r].transfers[self->at[r]] = transfer;
    out->ranks[r].wait_ns += (double)wait;
    out->ranks[r].transfer_ns += (double)transfer;
    waits += (double)wait;
    ok = intervals_add(&self->waits[r], at->start_ns, at->start_ns + wait) &&
         intervals_add(&self->transfers[r], at->start_ns + wait, at->end_ns);
  }
  out->ranks[last].caused_ns += waits / (members - 1);
  out->ranks[last].last++;
  self->step_caused[last] += waits / (members - 1);
  out->matched++;
  if (self->clock) compare_skew(self, key, members, transfer);
  return ok && add_message(out, next_of(self, last), transfer);
}

/* The least collective that any rank is at; NULL: all are at their end. */
static const rank_collective *least_of(const summing *self) {
  const rank_collective *least = NULL;
  for (uint32_t r = 0; r < self->out->count; r++) {
    const rank_collective *at = next_of(self, r);
    if (at && (!least || rank_collective_compare(at, least) < 0)) least = at;
  }
  return least;
}

static bool match_collectives(summing *self) {
  const uint32_t count = self->out->count;
  rank_step_key step = {.of = 0};
  bool ok = true;
  for (const rank_collective *least; ok && (least = least_of(self));) {
    uint32_t there = 0;
    if (rank_step_compare(least->step, step)) end_step(self);
    step = least->step;
    const rank_collective key = *least;
    const uint32_t members = rank_collective_members(key.name);
    for (uint32_t r = 0; r < count; r++) there += is_at(self, r, &key);
    if (there > 1 && there == (members ? members : count))
      ok = take_collective(self, &key, there);
    else
      self->out->unmatched += there;
    for (uint32_t r = 0; r < count; r++) self->at[r] += is_at(self, r, &key);
  }
  end_step(self);
  return ok;
}

static bool expose(intervals *list, const intervals *compute, double *out, intervals *alone) {
  const bool ok = intervals_merge(list) && intervals_subtract(list, compute, alone);
  *out = (double)intervals_length(alone);
  return ok;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* What the host needs for a step, by the step in the middle: the last one of a loop that runs ahead of its device holds
 * what the device does after them all. */
static bool host_need(const rank_side *side, const intervals *held, double *out) {
  double *all = calloc((size_t)side->step_count + 1, sizeof *all);
  if (!all) return false;
  for (uint32_t i = 0; i < side->step_count; i++) {
    const rank_step *step = &side->steps[i];
    all[i] = step->ns - (double)intervals_within(held, step->start_ns, step->start_ns + (int64_t)step->ns);
  }
  qsort(all, side->step_count, sizeof *all, by_value);
  *out = all[side->step_count / 2];
  free(all);
  return true;
}

/* What the ledger gives to communication; a moment in which one collective waits and another transfers is transfer. */
static bool divide_owner(const summing *self, uint32_t r) {
  rank_figures *of = &self->out->ranks[r];
  intervals rest = {0}, part = {0};
  bool ok = intervals_intersect(&of->side->exposed, &self->transfers[r], &part);
  of->comm_transfer_ns = intervals_length(&part);
  ok = ok && intervals_subtract(&of->side->exposed, &self->transfers[r], &rest) &&
       intervals_intersect(&rest, &self->waits[r], &part);
  of->comm_wait_ns = intervals_length(&part);
  intervals_free(&rest);
  intervals_free(&part);
  return ok;
}

/* The waits and transfers of a rank, and what its host needs without being held by the waits. */
static bool sum_rank(summing *self, uint32_t r) {
  rank_figures *of = &self->out->ranks[r];
  intervals waits = {0}, transfers = {0}, held = {0};
  const bool ok = expose(&self->waits[r], &of->side->compute, &of->exposed_wait_ns, &waits) &&
                  expose(&self->transfers[r], &of->side->compute, &of->exposed_transfer_ns, &transfers) &&
                  intervals_intersect(&waits, &of->side->blocked, &held) && host_need(of->side, &held, &of->host_ns) &&
                  divide_owner(self, r);
  intervals_free(&waits);
  intervals_free(&transfers);
  intervals_free(&held);
  return ok;
}

static bool sum_up(summing *self) {
  rank_summary *out = self->out;
  bool ok = match_collectives(self);
  for (uint32_t r = 0; r < out->count && ok; r++) {
    rank_figures *of = &out->ranks[r];
    const rank_side *side = of->side;
    ok = sum_rank(self, r) && rank_operations_make(side, of->transfers, &of->operations);
    for (uint32_t i = 0; i < of->side->step_count; i++) of->step_ns += of->side->steps[i].ns / of->side->step_count;
    const double steps = out->steps ? out->steps : 1;
    of->wait_ns /= steps;
    of->transfer_ns /= steps;
    of->exposed_wait_ns /= steps;
    of->exposed_transfer_ns /= steps;
    of->caused_ns /= steps;
    of->need_ns = fmax(of->host_ns, side->compute_ns + of->exposed_transfer_ns);
    out->step_ns = fmax(out->step_ns, fmax(of->step_ns, side->compute_ns + side->comm_ns - side->overlap_ns));
  }
  return ok;
}

/* No transfer is known at first. */
static bool take_transfers(rank_summary *self) {
  for (uint32_t r = 0; r < self->count; r++) {
    rank_figures *of = &self->ranks[r];
    of->transfers = calloc((size_t)of->side->collective_count + 1, sizeof *of->transfers);
    if (!of->transfers) return false;
    for (uint32_t i = 0; i < of->side->collective_count; i++) of->transfers[i] = RANK_NO_TRANSFER;
  }
  return true;
}

bool rank_summary_make(const rank_side *sides, uint32_t count, const rank_clock *clock, rank_summary *out) {
  *out = (rank_summary){
      .bound_ns = -1, .count = count, .ranks = calloc(count, sizeof *out->ranks), .cause = VERDICT_COUNT};
  summing self = {.out = out,
                  .clock = clock,
                  .at = calloc(count, sizeof *self.at),
                  .step_caused = calloc(count, sizeof *self.step_caused),
                  .waits = calloc(count, sizeof *self.waits),
                  .transfers = calloc(count, sizeof *self.transfers)};
  bool ok = out->ranks && self.at && self.step_caused && self.waits && self.transfers;
  if (ok) {
    for (uint32_t r = 0; r < count; r++) {
      out->ranks[r].side = &sides[r];
      if (sides[r].ranks > out->of) out->of = sides[r].ranks;
    }
    qsort(out->ranks, count, sizeof *out->ranks, by_rank);
    ok = take_transfers(out);
    for (uint32_t i = 0; i < sides[0].step_count; i++) {
      uint32_t there = 1;
      while (there < count && has_step(&sides[there], sides[0].steps[i].key)) there++;
      out->steps += there == count;
    }
    ok = ok && sum_up(&self);
    finish_messages(out);
    if (clock) out->bound_ns = rank_clock_bound(clock, count, &out->drift_ns);
    if (out->matched) out->skew_difference_ns /= (double)out->matched;
  }
  if (ok) rank_judge(out, self.step_caused);
  for (uint32_t r = 0; self.waits && self.transfers && r < count; r++) {
    intervals_free(&self.waits[r]);
    intervals_free(&self.transfers[r]);
  }
  free(self.at);
  free(self.step_caused);
  free(self.waits);
  free(self.transfers);
  return ok;
}

void rank_summary_free(rank_summary *self) {
  for (uint32_t r = 0; self->ranks && r < self->count; r++) {
    free(self->ranks[r].transfers);
    rank_operations_free(&self->ranks[r].operations);
  }
  free(self->ranks);
  free(self->messages);
  *self = (rank_summary){.count = 0};
}
