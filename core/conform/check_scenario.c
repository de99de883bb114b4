/* Conformance checks of scenarios: every prefix of the life cycle, each bound, failures of the kit; see check_list.h.
 */
#include "check_failures.h"

#include "base/monotonic.h"
#include "check_process.h"
#include "config/config_presets.h"

#include "ledger/verdict.h"
#include "run/ranks/rank_summary.h"

#include <stdio.h>
#include <string.h>

enum { STEPS = 3 };

static int64_t steps_ns; /* what the steps of the last life took together */

static pd_batch a_batch(void) {
  static const float images[2 * 3 * 4 * 4];
  static const int64_t labels[2];
  return (pd_batch){
      .size = sizeof(pd_batch), .count = 2, .channels = 3, .height = 4, .width = 4, .images = images, .labels = labels};
}

/* What the ABI's rules say about a life that is over. */
static check_verdict judge(const check_host *host, pd_status status, bool stepped) {
  if (host->misuse[0]) return check_verdict_of(CHECK_FAILED, "%s", host->misuse);
  if (host->kit_failures && status == PD_OK)
    return check_verdict_of(CHECK_FAILED, "step returned PD_OK though the training kit had failed");
  if (stepped && status != PD_OK && status != PD_STOP && !host->message[0])
    return check_verdict_of(CHECK_FAILED, "step returned %d without a message by host->fail", status);
  if (host->live_tensors)
    return check_verdict_of(CHECK_FAILED, "%lld tensors of the kit's left", (long long)host->live_tensors);
  if (host->open_ranges) return check_verdict_of(CHECK_FAILED, "%lld ranges left open", (long long)host->open_ranges);
  if (host->in_truth && status == PD_OK) return check_verdict_of(CHECK_FAILED, "pd_truth.begin was called without end");
  return check_ok();
}

/* init, `steps` steps, teardown; then nothing may be left. *out: the first status that was not PD_OK; *stepped: of a
 * step. */
static check_verdict live(const check_target *target, const void *options, check_host *host, uint64_t steps,
                          pd_status *out, bool *stepped) {
  const pd_scenario_ops *ops = target->table->ops.scenario;
  const uint32_t threads = check_thread_count();
  void *state = NULL;
  host->recording = 1; /* so that its ranges are opened and closed */
  *out = ops->init(&host->table, options, &state);
  if (*out != PD_OK && state) return check_verdict_of(CHECK_FAILED, "init failed and set *state all the same");
  if (*out != PD_OK && !host->message[0])
    return check_verdict_of(CHECK_FAILED, "init returned %d without a message by host->fail", *out);
  *stepped = *out == PD_OK;
  if (*stepped) {
    const pd_batch batch = a_batch();
    const int64_t begin = monotonic_ns();
    for (uint64_t i = 0; i < steps && *out == PD_OK; i++) {
      const pd_step step = {.size = sizeof step, .phase = PD_PHASE_ACTIVE, .index = i, .batch = &batch};
      *out = ops->step(state, &step);
    }
    steps_ns = monotonic_ns() - begin;
    ops->teardown(state);
  }
  const check_verdict verdict = judge(host, *out, *stepped);
  return verdict.outcome == CHECK_OK ? check_threads_gone(threads) : verdict;
}

/* The same where nothing is made to fail but, perhaps, the kit. */
static check_verdict run_steps(const check_target *target, const void *options, check_host *host, uint64_t steps) {
  pd_status status = PD_OK;
  bool stepped = false;
  const check_verdict verdict = live(target, options, host, steps, &status, &stepped);
  if (verdict.outcome != CHECK_OK || status == PD_OK || status == PD_STOP || host->kit_failures) return verdict;
  if (!stepped) return check_verdict_of(CHECK_SKIPPED, "init: %s", host->message);
  return check_verdict_of(CHECK_FAILED, "step returned %d: %s", status, host->message);
}

static check_verdict with_defaults(const check_target *target, bool kit_fails, uint64_t steps) {
  check_host host;
  check_host_init(&host);
  host.kit_fails = kit_fails;
  void *options = check_options(target, NULL, NULL);
  if (!options) return check_verdict_of(CHECK_BROKEN, "out of memory");
  const check_verdict verdict = run_steps(target, options, &host, steps);
  free(options);
  return verdict;
}

static check_verdict no_step(const check_target *target) { return with_defaults(target, false, 0); }
static check_verdict one_step(const check_target *target) { return with_defaults(target, false, 1); }
/* Tells how long a step takes without the training: that is played. */
static check_verdict more_steps(const check_target *target) {
  const check_verdict verdict = with_defaults(target, false, STEPS);
  if (verdict.outcome != CHECK_OK) return verdict;
  return check_verdict_of(CHECK_OK, "%.3f ms a step, without the training", (double)steps_ns / STEPS / 1e6);
}
static check_verdict failing_step(const check_target *target) { return with_defaults(target, true, STEPS); }

static check_verdict twice(const check_target *target) {
  const check_verdict first = with_defaults(target, false, 1);
  return first.outcome == CHECK_OK ? with_defaults(target, false, 1) : first;
}

static check_verdict no_kit(const check_target *target) {
  const pd_scenario_ops *ops = target->table->ops.scenario;
  check_host host;
  check_host_init(&host);
  host.has_train = false;
  void *options = check_options(target, NULL, NULL), *state = NULL;
  if (!options) return check_verdict_of(CHECK_BROKEN, "out of memory");
  const pd_status status = ops->init(&host.table, options, &state);
  if (status == PD_OK) ops->teardown(state);
  free(options);
  if (status != PD_OK && !host.message[0])
    return check_verdict_of(CHECK_FAILED, "init returned %d without a message by host->fail", status);
  return check_ok();
}

/* A bound may be too much for the machine's memory: then init says so. It may not crash or hang. */
static check_verdict init_alone(const check_target *target, const void *options) {
  check_host host;
  check_host_init(&host);
  const check_verdict verdict = run_steps(target, options, &host, 0);
  return verdict.outcome == CHECK_SKIPPED ? check_ok() : verdict;
}
static check_verdict bounds(const check_target *target) { return check_each_bound(target, init_alone); }

static void live_in_turn(const check_target *target, check_life *life) {
  check_host host;
  check_host_init(&host);
  host.fail_call = life->fail_call;
  void *options = check_options(target, NULL, NULL);
  life->verdict = check_verdict_of(CHECK_BROKEN, "out of memory");
  if (!options) return;
  pd_status status = PD_OK;
  bool stepped = false;
  const check_verdict verdict = live(target, options, &host, STEPS, &status, &stepped);
  free(options);
  check_life_take(life, &host, status);
  life->output[0] = host.kit_calls;
  life->verdict = verdict;
}
static check_verdict no_service(const check_target *target) { return check_each_call(target, live_in_turn); }

static check_verdict presets(const check_target *target) {
  for (const pd_preset *at = target->table->ops.scenario->presets; at && at->key; at++)
    if (!config_presets_may(at->key))
      return check_verdict_of(CHECK_FAILED, "preset %s: this key is the user's choice", at->key);
  return check_ok();
}

static bool is_cause(const char *name) {
  for (uint32_t i = 0; i < VERDICT_COUNT; i++)
    if (strcmp(verdict_key(i), name) == 0) return true;
  return false;
}

static check_verdict no_cause(const char *field, const char *name) {
  check_verdict verdict =
      check_verdict_of(CHECK_FAILED, "%s \"%s\" is not a cause that the verdict knows:", field, name);
  for (uint32_t i = 0; i < VERDICT_COUNT; i++) {
    const size_t used = strlen(verdict.why);
    snprintf(verdict.why + used, sizeof verdict.why - used, "%s %s", i ? "," : "", verdict_key(i));
  }
  return verdict;
}

/* Else its truth is never found, and its cure never suggested. */
static check_verdict causes(const check_target *target) {
  const pd_scenario_ops *ops = target->table->ops.scenario;
  if (!is_cause(ops->bottleneck)) return no_cause(".bottleneck", ops->bottleneck);
  for (const pd_cure *at = PD_HAS(pd_scenario_ops, ops, cures) ? ops->cures : NULL; at && at->cause; at++)
    if (!is_cause(at->cause) && !ranks_verdict_is_cause(at->cause)) return no_cause(".cures", at->cause);
  return check_ok();
}

CHECK_PROCESS_FUNCTIONS(live_in_turn)

const check check_scenario_list[] = {
    {"its bottleneck and its cures are causes that the verdict names", causes},
    {"presets leave plugins, folders and mode to the user", presets},
    {"init and teardown, without a step", no_step},
    {"init, one step, teardown", one_step},
    {"init, three steps, teardown", more_steps},
    {"a second life in the same process", twice},
    {"init with each bound and each choice of each option", bounds},
    {"a host without a training kit: a message, or it needs none", no_kit},
    {"a failing training kit makes step fail; teardown leaves nothing", failing_step},
    {"each call of the training kit fails in its turn: step fails with a message, nothing is left", no_service},
    CHECK_PROCESS_ROWS,
    {"three steps of a real run", check_real_run},
    {NULL, NULL},
};
