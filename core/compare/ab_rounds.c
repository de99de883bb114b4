/* See ab_rounds.h. The rounds end by the interval's width alone: to end by its place would be to look until it pleases.
 */
#include "ab_rounds.h"

#include "rounds.h"

#include <pdhost/array.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A block takes at least this long, and this many times what an empty one takes: the ratio is off by less than a
 * hundredth of its distance from 1. */
#define LEAST_BLOCK_S 1e-3
#define OVERHEADS 100
/* The rounds after a restart last at least this long. */
#define RESTART_S 0.05
enum { EMPTY_BLOCKS = 5, MOST_GROWTH = 10, BLOCKS_A_ROUND = 4, RESTARTS_IN_TIME = AB_LEAST_RESTARTS + 2 };

typedef struct ab_run {
  const ab_rules *rules;
  const ab_callbacks *calls;
  void *const *users;
  ab_result *out;
  uint64_t room, restart_room;
  uint64_t restart_first; /* round */
  uint64_t next_look;     /* the number of restarts at which to look next: a look takes time */
  double restart_s;       /* spent at its begin */
} ab_run;

/* One block; times NaN where a clock went wrong. */
static pd_status take_block(const ab_run *self, int side, uint64_t number, double *host_s, double *device_s) {
  const timer_clock clock = self->rules->clock;
  const double begin_s = clock ? clock(self->users[side]) : 0;
  const pd_status status = self->calls->block(self->users[side], number, host_s, device_s);
  if (status != PD_OK) return status;
  const double around_s = clock ? clock(self->users[side]) - begin_s : 0;
  if (!(*device_s >= 0 && *device_s <= MEASUREMENT_LONGEST_S)) *device_s = (double)NAN;
  if (isfinite(*host_s) && *host_s > 0)
    self->out->spent_s += fmax(*host_s, around_s);
  else
    *host_s = (double)NAN;
  return PD_OK;
}

static bool time_is_up(const ab_run *self) { return self->out->spent_s >= self->rules->max_time_s; }

/* The least time of an empty block of either side. */
static pd_status time_nothing(const ab_run *self) {
  double least = INFINITY;
  for (int i = 0; i < 2 * EMPTY_BLOCKS; i++) {
    double host_s, device_s;
    const pd_status status = self->calls->block(self->users[i % 2], 0, &host_s, &device_s);
    if (status != PD_OK) return status;
    if (isfinite(host_s) && host_s >= 0) least = fmin(least, host_s);
  }
  self->out->overhead_s = isfinite(least) ? least : 0;
  return PD_OK;
}

/* Grows the block until the faster side takes long enough. Warms both up on the way. */
static pd_status find_number(const ab_run *self) {
  const double wanted = fmax(LEAST_BLOCK_S, OVERHEADS * self->out->overhead_s);
  uint64_t *number = &self->out->number;
  *number = self->rules->number ? self->rules->number : 1;
  for (int i = 0; i < 64; i++) {
    double least = INFINITY;
    for (int side = 0; side < 2; side++) {
      double host_s, device_s;
      const pd_status status = take_block(self, side, *number, &host_s, &device_s);
      if (status != PD_OK) return status;
      least = fmin(least, isnan(host_s) ? 0 : host_s);
    }
    if (self->rules->number || least >= wanted || *number >= TIMER_MAX_NUMBER || time_is_up(self)) break;
    const double growth = least > 0 ? fmin(MOST_GROWTH, 1.2 * wanted / least) : MOST_GROWTH;
    *number = (uint64_t)fmin(ceil((double)*number * fmax(growth, 1.2)), TIMER_MAX_NUMBER);
  }
  return PD_OK;
}

/* Two blocks a round and side. */
static bool grow(ab_run *self) {
  ab_result *out = self->out;
  const uint64_t blocks = 2 * (out->rounds + 1);
  uint64_t room = self->room;
  for (int side = 0; side < 2; side++) {
    uint64_t device_room = self->room;
    room = self->room;
    if (!PD_ARRAY_FIT(out->times_s[side], room, blocks) || !PD_ARRAY_FIT(out->device_s[side], device_room, blocks))
      return false;
  }
  self->room = room;
  return true;
}

/* A B B A, or B A A B in every other round. */
static pd_status take_round(ab_run *self, uint64_t index) {
  double times[2][2], device[2][2];
  uint64_t taken[2] = {0, 0};
  if (!grow(self)) return PD_NO_MEMORY;
  ab_result *out = self->out;
  for (uint64_t i = 0; i < BLOCKS_A_ROUND; i++) {
    const int side = (int)(((i == 1 || i == 2) + index) % 2);
    const uint64_t at = taken[side]++;
    const pd_status status = take_block(self, side, out->number, &times[side][at], &device[side][at]);
    if (status != PD_OK) return status;
  }
  if (!isfinite((times[1][0] + times[1][1]) / (times[0][0] + times[0][1]))) {
    out->dropped++;
    return PD_OK;
  }
  for (int side = 0; side < 2; side++)
    for (uint64_t i = 0; i < 2; i++) {
      out->times_s[side][2 * out->rounds + i] = times[side][i];
      out->device_s[side][2 * out->rounds + i] = device[side][i];
    }
  out->rounds++;
  return PD_OK;
}

/* The rounds since the last restart belong to one. */
static pd_status end_restart(ab_run *self) {
  ab_result *out = self->out;
  const uint64_t count = out->rounds - self->restart_first;
  if (!count) return PD_OK;
  if (!PD_ARRAY_FIT(out->restart_rounds, self->restart_room, out->restart_count + 1)) return PD_NO_MEMORY;
  out->restart_rounds[out->restart_count++] = count;
  self->restart_first = out->rounds;
  self->restart_s = out->spent_s;
  return PD_OK;
}

static pd_status look(const ab_run *self) {
  ab_result *out = self->out;
  const rounds all = {out->times_s[0], out->times_s[1], out->restart_rounds, out->restart_count};
  if (!rounds_ratio(&all, &out->of)) return PD_NO_MEMORY;
  out->narrow =
      out->restart_count >= AB_LEAST_RESTARTS && log(out->of.of.high / out->of.of.low) / 2 <= self->rules->width;
  return PD_OK;
}

/* Long steps have fewer rounds after each restart, so that there are enough restarts: the interval is made of these. */
static bool restart_is_over(const ab_run *self) {
  const uint64_t count = self->out->rounds - self->restart_first;
  const double took_s = self->out->spent_s - self->restart_s;
  if (count && took_s + took_s / (double)count > self->rules->max_time_s / RESTARTS_IN_TIME) return true;
  return count >= AB_RESTART_ROUNDS && took_s >= RESTART_S;
}

/* The end of a restart, and a new one unless it was the last. */
static pd_status next_restart(ab_run *self) {
  ab_result *out = self->out;
  pd_status status = end_restart(self);
  if (status == PD_OK && out->restart_count >= self->next_look) {
    status = look(self);
    self->next_look += 1 + self->next_look / 5;
  }
  if (status != PD_OK || out->narrow || time_is_up(self) || !self->calls->renew) return status;
  return self->calls->renew(self->calls->user, out->restart_count);
}

static pd_status take_rounds(ab_run *self) {
  for (uint64_t index = 0; index < AB_MOST_ROUNDS && !time_is_up(self) && !self->out->narrow; index++) {
    pd_status status = take_round(self, index);
    if (status == PD_OK && self->calls->tell) self->calls->tell(self->calls->user, self->out);
    if (status == PD_OK && restart_is_over(self)) status = next_restart(self);
    if (status != PD_OK) return status;
  }
  return PD_OK;
}

pd_status ab_measure(const ab_rules *rules, const ab_callbacks *calls, void *const *users, ab_result *out) {
  ab_run self = {.rules = rules, .calls = calls, .users = users, .out = out, .next_look = AB_LEAST_RESTARTS};
  *out = (ab_result){.number = 1};
  pd_status status = time_nothing(&self);
  if (status == PD_OK) status = find_number(&self);
  out->spent_s = 0;
  if (status == PD_OK) status = take_rounds(&self);
  if (!out->rounds) return status == PD_OK ? PD_INVALID : status;
  pd_status looked = end_restart(&self);
  if (looked == PD_OK) looked = look(&self);
  return status == PD_OK ? looked : status;
}

void ab_free(ab_result *self) {
  for (int side = 0; side < 2; side++) {
    free(self->times_s[side]);
    free(self->device_s[side]);
  }
  free(self->restart_rounds);
  *self = (ab_result){.number = 0};
}
