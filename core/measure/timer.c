/* See timer.h. */
#include "timer.h"

#include "base/statistics.h"

#include <math.h>
#include <stdio.h>

/* The smallest time that a run can have taken: the clock's own step. What a block took is never counted as less, so
 * that a clock that stops, or goes backwards, does not make a rule wait without end. */
#define RUN_AT_LEAST_S 1e-9

/* How a block grows, as torch.utils.benchmark has it. */
#define TIMER_SHARE 1e-4
enum { EMPTY_BLOCKS = 5, GROWTH = 10, WARMUP_PART = 100 };
/* adaptive_autorange grows its block as for this time, and judges once it has this many blocks. */
#define ADAPTIVE_GROW_S 0.05
enum { ADAPTIVE_BLOCKS = 4 };

typedef struct timer {
  const timer_rules *rules;
  timer_block block;
  void *user;
  pd_measurement *out;
  double spent_s;    /* of the blocks taken */
  double begun_s;    /* by the rules' clock */
  uint64_t taken;    /* with those that do not count */
  uint64_t unusable; /* no time */
} timer;

const char *timer_method_name(timer_method method) {
  static const char *const names[] = {"timeit", "blocked_autorange", "adaptive_autorange"};
  return names[method];
}

static bool is_time(double seconds) { return seconds >= 0 && seconds <= MEASUREMENT_LONGEST_S; }

static double at_least(double host_s, uint64_t number) {
  const double least = RUN_AT_LEAST_S * (double)(number ? number : 1);
  return is_time(host_s) && host_s > least ? host_s : least;
}

static pd_status measure_overhead(timer *t) {
  double times[EMPTY_BLOCKS], device_s;
  uint64_t count = 0;
  for (int i = 0; i < EMPTY_BLOCKS; i++) {
    double host_s;
    const pd_status status = t->block(t->user, 0, &host_s, &device_s);
    if (status != PD_OK) return status;
    if (is_time(host_s)) times[count++] = host_s;
  }
  statistics all;
  if (!statistics_make(times, count, &all)) return PD_NO_MEMORY;
  t->out->timer_overhead_s = all.median;
  return PD_OK;
}

/* Whether the next size of a block would leave no time for as many as are wanted. */
static bool is_long(const timer *t, double took_s) {
  return t->rules->min_blocks && took_s * GROWTH * (double)t->rules->min_blocks > t->rules->min_run_time_s;
}

/* Also the warm-up. */
static pd_status grow(timer *t, double min_run_time_s) {
  uint64_t number = 1;
  for (;;) {
    double host_s, device_s;
    const pd_status status = t->block(t->user, number, &host_s, &device_s);
    if (status != PD_OK) return status;
    const double took_s = at_least(host_s, number);
    const bool cheap = t->out->timer_overhead_s <= TIMER_SHARE * took_s;
    if ((cheap && took_s >= min_run_time_s / 1000) || took_s > min_run_time_s || number >= TIMER_MAX_NUMBER ||
        is_long(t, took_s))
      break;
    number *= GROWTH;
  }
  t->out->number_per_run = number;
  return PD_OK;
}

static pd_status take_block(timer *t) {
  double host_s, device_s;
  const uint64_t number = t->out->number_per_run;
  const pd_status status = t->block(t->user, number, &host_s, &device_s);
  if (status != PD_OK) return status;
  t->spent_s += at_least(host_s, number);
  t->taken++;
  if (is_time(host_s)) return measurement_add_block(t->out, host_s, is_time(device_s) ? device_s : (double)NAN);
  t->unusable++;
  return PD_OK;
}

/* Whether the blocks so far agree well enough. */
static pd_status is_content(const timer *t, bool *content) {
  const uint64_t count = t->out->block_count;
  *content = false;
  /* Sorting thousands of blocks after each one would cost more than the blocks. */
  if (count < ADAPTIVE_BLOCKS || count % (1 + count / 64) != 0) return PD_OK;
  statistics all;
  if (!statistics_make(t->out->host_s, count, &all)) return PD_NO_MEMORY;
  *content = all.iqr < t->rules->threshold * all.median || !(all.iqr > 0);
  return PD_OK;
}

/* Fewer than asked for, and time for more. */
static bool wants_blocks(const timer *t) {
  const bool time_is_up = t->rules->max_run_time_s > 0 && t->spent_s > t->rules->max_run_time_s;
  return t->taken < t->rules->min_blocks && !time_is_up;
}

/* A warning says which part of the time the blocks had. */
static pd_status end_by_clock(timer *t, bool *over) {
  char text[256];
  const double most_s = fmax(t->rules->max_run_time_s, t->rules->min_run_time_s);
  const double passed_s = t->rules->clock ? t->rules->clock(t->user) - t->begun_s : 0;
  *over = t->rules->clock && t->taken && t->rules->max_run_time_s > 0 && passed_s >= most_s;
  if (!*over) return PD_OK;
  snprintf(text, sizeof text,
           "The time is up after %.1f s: %llu block%s took %.2g s, and emptying the cache before each took the rest.\n"
           "For more blocks give it a longer benchmark.max_run_time.",
           passed_s, (unsigned long long)t->taken, t->taken == 1 ? "" : "s", t->spent_s);
  return measurement_warn(t->out, text);
}

static pd_status take_blocks(timer *t) {
  const timer_rules *rules = t->rules;
  const bool adaptive = rules->method == TIMER_ADAPTIVE_AUTORANGE;
  bool content = false, over = false;
  if (rules->clock) t->begun_s = rules->clock(t->user);
  while (t->taken < TIMER_MAX_BLOCKS && (t->spent_s < rules->min_run_time_s || wants_blocks(t) || !content)) {
    pd_status status = end_by_clock(t, &over);
    if (status != PD_OK || over) return status;
    status = take_block(t);
    content = !adaptive;
    if (status == PD_OK && adaptive) status = is_content(t, &content);
    if (status != PD_OK) return status;
    if (adaptive && t->spent_s > rules->max_run_time_s) break;
  }
  return PD_OK;
}

pd_status timer_prepare(const timer_rules *rules, timer_block block, void *user, pd_measurement *out) {
  timer t = {.rules = rules, .block = block, .user = user, .out = out};
  pd_status status = measurement_set(&out->method, timer_method_name(rules->method));
  out->number_per_run = rules->number ? rules->number : 1;
  if (status == PD_OK) status = measure_overhead(&t);
  if (status != PD_OK) return status;
  if (!rules->number)
    return grow(&t, rules->method == TIMER_ADAPTIVE_AUTORANGE ? ADAPTIVE_GROW_S : rules->min_run_time_s);
  double host_s, device_s;
  const uint64_t warmup = rules->number / WARMUP_PART;
  return block(user, warmup ? warmup : 1, &host_s, &device_s);
}

pd_status timer_take(const timer_rules *rules, timer_block block, void *user, pd_measurement *out) {
  timer t = {.rules = rules, .block = block, .user = user, .out = out};
  pd_status status = rules->method == TIMER_TIMEIT ? take_block(&t) : take_blocks(&t);
  out->partial = status != PD_OK;
  if (t.unusable) {
    char text[160];
    snprintf(text, sizeof text,
             "%llu of %llu blocks have no time and do not count.\nThe clock went backwards or is broken.",
             (unsigned long long)t.unusable, (unsigned long long)t.taken);
    if (measurement_warn(out, text) != PD_OK && status == PD_OK) status = PD_NO_MEMORY;
  }
  return status == PD_OK && out->block_count == 0 ? PD_INVALID : status;
}
