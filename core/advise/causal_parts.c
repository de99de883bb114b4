/* See causal_parts.h. */
#include "causal_parts.h"

#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "measure/bench.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Kernels to which a delay is put in each step: each is a launch, which takes time of its own. */
enum { POINTS = 8, PLAIN_BLOCKS = 3 };
/* A block ends with calls of its own, which are in none of its steps. */
#define LEAST_CALLS 0.5

typedef struct causal_run {
  const causal_rules *rules;
  config *settings;
  bench *bench;
  delays *slow;
  uint64_t steps; /* in a block */
  causal_parts *out;
} causal_run;

/* ---- up and down ---- */

static int load(const cli_args *args, config **out, error *err) {
  static const config_assignment mode = {"run", "mode", "benchmark", "pdhost causal"};
  config_input input = args->input;
  config_assignment *all = calloc(input.assignment_count + 1u, sizeof *all);
  if (!all) {
    error_no_memory(err);
    return CODE_INTERNAL;
  }
  if (input.assignment_count) memcpy(all, input.assignments, input.assignment_count * sizeof *all);
  all[input.assignment_count++] = mode;
  input.assignments = all;
  if (config_load(&input, out, err) == PD_OK) (*out)->quiet = args->quiet;
  free(all);
  if (!err->count && (*out)->train.cuda_graph)
    error_set(
        err, PD_INVALID, CODE_CONFIG,
        "causal: [train] cuda_graph = true: the kernels of a graph are launched at once, so that none of them can "
        "be delayed; set cuda_graph = false");
  return err->count ? err->exit_code : CODE_DONE;
}

static int fail(const causal_run *self, pd_status status, error *err) {
  if (signals_pending()) return 128 + signals_pending();
  const char *failure = bench_failure(self->bench);
  error_set(err, status, CODE_SCENARIO, "causal: %s", failure[0] ? failure : "no block of steps has a time");
  return CODE_SCENARIO;
}

/* ---- blocks ---- */

/* One block; its mean step in `step_ns`. */
static pd_status take_block(const causal_run *self, double *step_ns) {
  double host_s, device_s;
  const pd_status status = bench_block(self->bench, self->steps, &host_s, &device_s);
  *step_ns = 1e9 * host_s / (double)self->steps;
  return status == PD_OK && !(*step_ns > 0) ? PD_INVALID : status;
}

/* Steps of a block, with those before it that are not timed: the delay is in all of them. */
static double steps_in_block(const causal_run *self) {
  return (double)(self->steps + 2 + data_loader_ahead(bench_loader(self->bench)));
}

/* A block with `each_ns` in each step. */
static pd_status delayed_block(const causal_run *self, delays_part part, double delay_ns, causal_block *out) {
  const double calls = self->out->all[part].calls;
  if (part == DELAYS_input)
    (void)data_loader_delay(bench_loader(self->bench), (int64_t)delay_ns);
  else
    delays_set(self->slow, part, delay_ns / calls, (uint64_t)ceil(calls / POINTS));
  const pd_status status = take_block(self, &out->step_ns);
  out->put_ns = part == DELAYS_input ? data_loader_delayed(bench_loader(self->bench))
                                     : delays_put_ns(self->slow) / steps_in_block(self);
  return status;
}

/* A block of each delay, forwards and backwards in turn, and each time from another one on. */
static pd_status take_round(const causal_run *self, delays_part part, causal_curve *to) {
  causal_block round[CAUSAL_LEVELS_MOST];
  pd_status status = PD_OK;
  for (uint32_t i = 0; i < to->levels && status == PD_OK; i++) {
    const uint32_t place = (uint32_t)((i + to->rounds / 2) % to->levels);
    const uint32_t level = to->rounds % 2 ? to->levels - 1 - place : place;
    status = delayed_block(self, part, self->rules->levels[level] * self->out->step_ns, &round[level]);
  }
  if (status != PD_OK) return status;
  return causal_curve_add(to, round) ? PD_OK : PD_NO_MEMORY;
}

/* The rounds end by the interval's width alone: to end by its place would be to look until it pleases. */
static pd_status take_rounds(const causal_run *self, delays_part part) {
  causal_part *out = &self->out->all[part];
  const double until_s = monotonic_s() + self->rules->max_time_s;
  uint64_t look_at = CAUSAL_LEAST_ROUNDS;
  bool narrow = false;
  out->of.levels = self->rules->level_count;
  progress_ends_within(self->rules->max_time_s);
  while (!narrow && (out->of.rounds < CAUSAL_LEAST_ROUNDS || monotonic_s() < until_s)) {
    const pd_status status = take_round(self, part, &out->of);
    if (status != PD_OK) return status;
    if (out->of.rounds < look_at) continue;
    if (!causal_curve_slope(&out->of, &out->slope)) return PD_NO_MEMORY;
    narrow = out->slope.high - out->slope.low <= CAUSAL_WIDTH;
    progress_note("%" PRIu64 " rounds, slope %.2f", out->of.rounds, out->slope.value);
    look_at += 1 + look_at / 5;
  }
  return causal_curve_slope(&out->of, &out->slope) ? PD_OK : PD_NO_MEMORY;
}

/* ---- parts ---- */

/* The step as it is, and what it calls. */
static pd_status take_plain(const causal_run *self) {
  uint64_t before[DELAYS_COUNT];
  double sum_ns = 0, step_ns = 0;
  for (delays_part part = 0; part < DELAYS_COUNT; part++) before[part] = delays_calls(self->slow, part);
  for (int i = 0; i < PLAIN_BLOCKS; i++) {
    const pd_status status = take_block(self, &step_ns);
    if (status != PD_OK) return status;
    sum_ns += step_ns;
  }
  for (delays_part part = 0; part < DELAYS_COUNT; part++)
    self->out->all[part].calls =
        (double)(delays_calls(self->slow, part) - before[part]) / (PLAIN_BLOCKS * steps_in_block(self));
  self->out->all[DELAYS_input].calls = 1;
  self->out->step_ns = sum_ns / PLAIN_BLOCKS;
  return PD_OK;
}

/* NULL: it can be slowed down. */
static const char *why_not(const causal_run *self, delays_part part) {
  const bool on_stream = part == DELAYS_kernels || part == DELAYS_copies || part == DELAYS_reads;
  if (part == DELAYS_input)
    return data_loader_delay(bench_loader(self->bench), 0) ? NULL : "the data is resident: nothing is loaded in a step";
  if (self->out->all[part].calls < LEAST_CALLS) return "none in a step";
  if (on_stream && !delays_has_spin(self->slow)) return "the device has no operation that only takes time (spin)";
  return NULL;
}

/* Half of the longest delay, at least, was put in. */
static bool was_delayed(const causal_run *self, delays_part part) {
  const causal_curve *of = &self->out->all[part].of;
  double put_ns = 0, step_ns = 0;
  return causal_curve_median(of, of->levels - 1, &put_ns, &step_ns) &&
         put_ns >= 0.5 * self->rules->levels[of->levels - 1] * self->out->step_ns;
}

static pd_status take_parts(const causal_run *self) {
  for (delays_part part = 0; part < DELAYS_COUNT; part++) {
    char phase[64];
    causal_part *out = &self->out->all[part];
    out->why = why_not(self, part);
    if (out->why) continue;
    snprintf(phase, sizeof phase, "slowing %s down", delays_name(part));
    progress_enter(phase, "step", 0);
    const pd_status status = take_rounds(self, part);
    delays_clear(self->slow);
    if (part == DELAYS_input) (void)data_loader_delay(bench_loader(self->bench), 0);
    if (status != PD_OK) return status;
    if (!was_delayed(self, part)) out->why = "the delays are too short to put in; raise [truth] block or --levels";
    out->path = causal_path_of(&out->slope);
  }
  return PD_OK;
}

static int measure(causal_run *self, error *err) {
  progress_enter("setting up", NULL, 0);
  const int code = bench_open_delayed(self->settings, self->slow, &self->bench);
  if (code != CODE_DONE) return code;
  self->steps = (uint64_t)self->settings->truth.block;
  pd_status status = bench_warm_up(self->bench);
  if (status == PD_OK) status = take_plain(self);
  if (status == PD_OK) status = take_parts(self);
  return status == PD_OK ? CODE_DONE : fail(self, status, err);
}

int causal_parts_measure(const cli_args *args, const causal_rules *rules, causal_parts *out, error *err) {
  causal_run self = {.rules = rules, .out = out};
  *out = (causal_parts){.step_ns = 0};
  int code = load(args, &self.settings, err);
  if (code == CODE_DONE) {
    self.slow = delays_open();
    code = self.slow ? measure(&self, err) : CODE_INTERNAL;
    if (!self.slow) error_no_memory(err);
  }
  bench_close(self.bench);
  delays_close(self.slow);
  config_free(self.settings);
  return code;
}

void causal_parts_free(causal_parts *self) {
  for (delays_part part = 0; part < DELAYS_COUNT; part++) causal_curve_free(&self->all[part].of);
}
