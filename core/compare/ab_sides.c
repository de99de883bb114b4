/* See ab_sides.h. */
#include "ab_sides.h"

#include "idle_keys.h"

#include "abi/option.h"
#include "abi/services.h"
#include "base/log.h"

#include "measure/guard_report.h"
#include "measure/measurement_judge.h"

#include <pdhost/clocks.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- configurations ---- */

/* A key that can make no difference between the sides would have A measured against A without a word. */
static bool refuse_idle(const config_assignment *all, uint32_t count, bench_kind kind, const char *whose,
                        idle_scope scope, error *err) {
  for (uint32_t i = 0; i < count; i++) {
    const char *why = idle_keys_why(&all[i], kind == BENCH_LOOP ? TIMED_LOOP : TIMED_AB, scope);
    if (!why) continue;
    error_set(err, PD_INVALID, CODE_USAGE, "ab: %s%s.%s: %s", whose, all[i].section, all[i].key, why);
    return false;
  }
  return true;
}

bool ab_sides_check(bench_kind kind, const cli_args *args, error *err) {
  return refuse_idle(args->input.assignments, args->input.assignment_count, kind, "", IDLE_ALL, err);
}

/* What both were given, then the side's own, which win; then what `ab` needs. */
static bool load(ab_sides *self, int side, const cli_args *args, const assignments *own, error *err) {
  static const config_assignment mode = {"run", "mode", "benchmark", "pdhost ab"};
  config_input input = args->input;
  config_assignment *all = calloc(input.assignment_count + own->count + 1u, sizeof *all);
  if (!all) {
    error_no_memory(err);
    return false;
  }
  if (input.assignment_count) memcpy(all, input.assignments, input.assignment_count * sizeof *all);
  if (own->count) memcpy(all + input.assignment_count, own->all, own->count * sizeof *all);
  all[input.assignment_count + own->count] = mode;
  input.assignments = all;
  input.assignment_count += own->count + 1;
  const bool ok = config_load(&input, &self->settings[side], err) == PD_OK;
  if (ok) self->settings[side]->quiet = args->quiet;
  free(all);
  return ok;
}

static bool is_name(const pd_setting *at) {
  return strcmp(at->section, "benchmark") == 0 &&
         (strcmp(at->key, "label") == 0 || strcmp(at->key, "sub_label") == 0 || strcmp(at->key, "env") == 0);
}

/* One value in two spellings is one: "1" and "true", "1s" and "1000ms". */
static bool is_same_value(config *self, const pd_setting *at, const char *other) {
  const char *one = at->value ? at->value : "";
  option_value values[2];
  pd_option row;
  char why[ERROR_LINE_BYTES];
  if (strcmp(one, other ? other : "") == 0) return true;
  return other && config_row(self, at->section, at->key, &row) &&
         option_parse(&row, one, &values[0], why, sizeof why) &&
         option_parse(&row, other, &values[1], why, sizeof why) && option_equal(&row, &values[0], &values[1]);
}

/* Whether every key but those that name a side has the same value on both. */
static bool are_equal(config *a, const config *b) {
  if (a->setting_count != b->setting_count) return false;
  for (uint64_t i = 0; i < a->setting_count; i++) {
    const pd_setting *one = &a->settings[i], *other = &b->settings[i];
    if (is_name(one)) continue;
    if (strcmp(one->section, other->section) != 0 || strcmp(one->key, other->key) != 0 ||
        !is_same_value(a, one, other->value))
      return false;
  }
  return a->scenario.plugin->table == b->scenario.plugin->table || strcmp(a->run.scenario, b->run.scenario) == 0;
}

bool ab_sides_load(ab_sides *self, bench_kind kind, const cli_args *args, const char *const texts[2], error *err) {
  assignments own[2];
  const bool first = assignments_parse(texts[0], "ab: A:", &own[0], err);
  const bool second = assignments_parse(texts[1], "ab: B:", &own[1], err);
  bool ok = first && second;
  *self = (ab_sides){.texts = {texts[0], texts[1]}, .kind = kind};
  for (int side = 0; side < 2 && ok; side++)
    ok = refuse_idle(own[side].all, own[side].count, kind, side ? "B: " : "A: ", IDLE_ONE, err) &&
         load(self, side, args, &own[side], err);
  log_forget_repeats(); /* warn once of what both were given */
  if (ok && strcmp(texts[0], texts[1]) != 0 && are_equal(self->settings[0], self->settings[1])) {
    char a[256], b[256];
    error_set(err, PD_INVALID, CODE_CONFIG, "ab: %s and %s are the same configuration",
              ab_sides_name(self, 0, a, sizeof a), ab_sides_name(self, 1, b, sizeof b));
    ok = false;
  }
  if (first) assignments_free(&own[0]);
  if (second) assignments_free(&own[1]);
  return ok;
}

/* ---- up and down ---- */

static int open_one(ab_sides *self, int side) {
  const int code = bench_open(self->settings[side], self->kind, &self->steps[side]);
  if (code != CODE_DONE) return code;
  const pd_status status = bench_warm_up(self->steps[side]);
  if (status == PD_OK || status == PD_STOP) return CODE_DONE;
  error_line_print(FAULT_SCENARIO, NULL, "%s", bench_failure(self->steps[side]));
  return CODE_SCENARIO;
}

static int open_both(ab_sides *self, int first) {
  self->code = open_one(self, first);
  if (self->code == CODE_DONE) self->code = open_one(self, 1 - first);
  return self->code;
}

static void close_both(ab_sides *self) {
  for (int side = 1; side >= 0; side--) {
    bench_close(self->steps[side]);
    self->steps[side] = NULL;
  }
}

static int watch(ab_sides *self) {
  uint32_t index[2];
  const bool is_gpu[2] = {bench_gpu(self->steps[0], &index[0]), bench_gpu(self->steps[1], &index[1])};
  const bool same = is_gpu[0] == is_gpu[1] && (!is_gpu[0] || index[0] == index[1]);
  for (int side = 0; side < (same ? 1 : 2); side++) {
    self->watches[side] = guard_open(is_gpu[side], index[side]);
    if (!self->watches[side]) {
      error_line_print(FAULT_MEMORY, NULL, "ab: %s", service_status_text(PD_NO_MEMORY));
      return CODE_INTERNAL;
    }
    guard_begin(self->watches[side]);
  }
  return CODE_DONE;
}

int ab_sides_open(ab_sides *self) {
  const int code = open_both(self, 0);
  return code == CODE_DONE ? watch(self) : code;
}

void ab_sides_look(ab_sides *self) {
  for (int side = 0; side < 2; side++)
    if (self->watches[side]) guard_look(self->watches[side]);
}

int ab_sides_renew(ab_sides *self, uint64_t index) {
  close_both(self);
  return open_both(self, (int)(index % 2));
}

ab_rules ab_sides_rules(const ab_sides *self, double width, double max_time_s) {
  const config *a = self->settings[0];
  const bool cold = a->benchmark.cold_cache || self->settings[1]->benchmark.cold_cache;
  ab_rules rules = {.width = width, .max_time_s = max_time_s, .number = (uint64_t)a->benchmark.number};
  if (self->kind == BENCH_LOOP) rules.number = (uint64_t)a->truth.block;
  if (self->kind == BENCH_STEP && cold) rules.number = 1;
  /* A block's own begin counts for the time, too. */
  if (self->kind == BENCH_LOOP || cold) rules.clock = bench_clock;
  return rules;
}

pd_status ab_sides_block(void *user, uint64_t number, double *host_s, double *device_s) {
  bench *const *step = user;
  return bench_block(*step, number, host_s, device_s);
}

void ab_sides_close(ab_sides *self) {
  measurements_clear(&self->rows);
  close_both(self);
  for (int side = 0; side < 2; side++) {
    guard_close(self->watches[side]);
    config_free(self->settings[side]);
  }
  *self = (ab_sides){.texts = {NULL}};
}

const char *ab_sides_failure(const ab_sides *self) {
  const char *first = bench_failure(self->steps[0]);
  return first[0] ? first : bench_failure(self->steps[1]);
}

const char *ab_sides_name(const ab_sides *self, int side, char *text, size_t room) {
  const char *own = self->texts[side];
  snprintf(text, room, "%s (%s)", side ? "B" : "A", own[0] ? own : "as configured");
  return text;
}

static pd_status describe(const ab_sides *self, int side, const char *id, const ab_result *of, bool partial,
                          pd_measurement *row) {
  char name[512];
  pd_status status = bench_describe(self->steps[side], row);
  if (status == PD_OK) status = measurement_set(&row->method, "ab");
  if (status == PD_OK) status = measurement_set(&row->description, ab_sides_name(self, side, name, sizeof name));
  row->number_per_run = of->number;
  row->timer_overhead_s = of->overhead_s;
  row->partial = partial;
  for (uint64_t i = 0; i < 2 * of->rounds && status == PD_OK; i++)
    status = measurement_add_block(row, of->times_s[side][i], of->device_s[side][i]);
  return status == PD_OK ? measurement_pair(row, id, side, of->restart_rounds, of->restart_count) : status;
}

/* What the guard saw; of the machine the same on both sides, so that its warnings are. */
static void watched(ab_sides *self, guard_facts facts[2]) {
  guard_end(self->watches[0], &facts[0]);
  facts[1] = facts[0];
  if (!self->watches[1]) return;
  guard_end(self->watches[1], &facts[1]);
  facts[1].load_before = facts[0].load_before;
  facts[1].load_after = facts[0].load_after;
  facts[1].own_cores = facts[0].own_cores;
  facts[1].other_cores = facts[0].other_cores;
}

pd_status ab_sides_measured(ab_sides *self, const ab_result *of, bool partial) {
  const struct timespec now = pd_clock_after(CLOCK_REALTIME, 0);
  guard_facts facts[2];
  char id[64];
  watched(self, facts);
  snprintf(id, sizeof id, "%lld.%09ld-%ld", (long long)now.tv_sec, now.tv_nsec, (long)getpid());
  for (int side = 0; side < 2; side++) {
    pd_measurement row = {.threads = 1};
    bool trusted; /* the verdict is of rounds, which share what happens to both sides */
    pd_status status = describe(self, side, id, of, partial, &row);
    if (status == PD_OK) status = measurement_judge(&row, &trusted);
    if (status == PD_OK) status = guard_report(&facts[side], &row, &trusted);
    if (status == PD_OK) status = measurements_add(&self->rows, &row);
    measurement_clear(&row);
    if (status != PD_OK) return status;
  }
  return PD_OK;
}
