/* See truth_cures.h. */
#include "truth_cures.h"

#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "config/assignments.h"
#include "config/config_dial.h"
#include "config/config_variant.h"
#include "ledger/cures.h"
#include "run/aside.h"
#include "run/board.h"
#include "run/ranks/rank_summary.h"
#include "run/run_parts.h"

#include <pdhost/processors.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* As many as it takes to tell an effect from chance (truth_figures.c). */
enum { ROUNDS_USUAL = 6 };

/* The run once more, with a cure. It is beside the run (run_device.h), but for ranks, which tell the devices of their
 * runs apart. */
typedef struct twin {
  config *settings;
  run_state *run;
} twin;

static void close_twin(twin *self) {
  if (self->run) run_parts_close(self->run);
  free(self->run);
  config_free(self->settings);
  *self = (twin){.run = NULL};
}

static bool load_twin(const run_state *of, const char *settings, twin *out) {
  static const config_assignment timed = {"run", "mode", "benchmark", "[truth] cures"};
  static error err; /* large; the loop thread's alone */
  assignments more;
  error_clear(&err);
  bool ok = assignments_parse(settings, "[truth] cures", &more, &err);
  if (ok) {
    config_assignment *all = calloc(more.count + 1u, sizeof *all);
    if (all && more.count) memcpy(all, more.all, more.count * sizeof *all);
    if (all) all[more.count] = timed;
    ok = all && config_variant(of->settings, all, more.count + 1, &out->settings, &err) == PD_OK;
    free(all);
    assignments_free(&more);
  }
  if (!ok) error_print(&err);
  return ok;
}

/* False: it does not come up, and said why. */
static bool open_twin(const run_state *of, const char *settings, twin *out) {
  config_dial asked;
  *out = (twin){.run = calloc(1, sizeof *out->run)};
  const pd_log_level level = log_level();
  if (level == PD_LOG_WARN || level == PD_LOG_INFO) log_set_level(PD_LOG_ERROR); /* of keys that the cure makes idle */
  bool ok = out->run && load_twin(of, settings, out);
  if (ok && !of->ranks) out->run->beside = of;
  if (ok) out->settings->quiet = true;
  ok = ok && run_parts_open(out->run, out->settings) == CODE_DONE;
  if (ok && config_dial_of(out->settings, &asked)) { /* as much is injected as in the run itself */
    out->run->dialled = of->dialled;
    out->run->dialled_count = of->dialled_count;
    out->run->amount = of->amount;
  }
  log_set_level(level);
  aside warm = {.steps = of->warmup_steps};
  return ok && aside_steps(out->run, &warm) == PD_OK;
}

static pd_status block(run_state *run, uint64_t timed, double *mean_ns) {
  aside steps = {.steps = aside_to_settle(run) + timed, .timed = timed};
  const pd_status status = aside_steps(run, &steps);
  *mean_ns = steps.mean_ns;
  return status;
}

/* PD_STOP: the run's own steps ended. A twin that fails has no more rounds. */
static pd_status take_rounds(run_state *run, run_state *cured, uint64_t rounds) {
  for (uint64_t round = 0; round < rounds && !signals_pending(); round++) {
    double own_ns = NAN, cured_ns = NAN;
    pd_status status = PD_OK, other = PD_OK;
    if (round % 2) other = block(cured, run->truth_block, &cured_ns);
    status = block(run, run->truth_block, &own_ns);
    if (!(round % 2)) other = block(cured, run->truth_block, &cured_ns);
    if (status != PD_OK) return status;
    if (other != PD_OK || isnan(own_ns) || isnan(cured_ns)) return PD_OK;
    status = truth_round_cure(run->truth, own_ns, cured_ns);
    if (status != PD_OK) return status;
  }
  return PD_OK;
}

static pd_status try_cure(run_state *run, const char *cause, const cure *by, uint64_t rounds) {
  const char *settings = by->settings;
  twin other = {.run = NULL};
  board_phase("measuring what cures save");
  progress_enter("measuring what cures save", "step", 0);
  progress_note("%s", settings);
  pd_status status = truth_cure(run->truth, cause, settings, !by->unpredicted && !by->unblocks);
  if (status == PD_OK && open_twin(run, settings, &other)) status = take_rounds(run, other.run, rounds);
  if (status == PD_OK && other.run && other.run->failure[0])
    log_line(PD_LOG_WARN, NULL, "[truth] cures: %s does not run: %s", settings, other.run->failure);
  close_twin(&other);
  return status;
}

/* What ranks hold up together has cures of the scenario's alone. */
static pd_status try_cures_of_ranks(run_state *run, uint64_t rounds) {
  pd_status status = PD_OK;
  const pd_cure *at = PD_HAS(pd_scenario_ops, run->scenario, cures) && run->ranks ? run->scenario->cures : NULL;
  for (; at && at->cause && status == PD_OK && !signals_pending(); at++)
    if (ranks_verdict_is_cause(at->cause) && assignments_change(at->settings, run->settings))
      status = try_cure(run, at->cause, &(cure){.settings = at->settings, .unpredicted = "of several ranks"}, rounds);
  return status;
}

pd_status truth_cures_run(run_state *run) {
  if (strcmp(run->settings->truth.cures, TRUTH_CURES_AUTO) != 0) return PD_OK;
  arena texts = {.failed = false};
  const verdict_setting setting = {.cures = PD_HAS(pd_scenario_ops, run->scenario, cures) ? run->scenario->cures : NULL,
                                   .offers = run->offers,
                                   .cores = pd_processors_allowed(),
                                   .num_workers = run->settings->data.num_workers,
                                   .is_cuda = run->props.is_cuda,
                                   .arena = &texts};
  const uint64_t rounds = run->truth_rounds ? run->truth_rounds : ROUNDS_USUAL;
  pd_status status = PD_OK;
  for (uint32_t c = 0; c < VERDICT_profiler && status == PD_OK; c++) {
    cure found[CURES_MOST];
    const uint32_t count = cures_find(&setting, c, found);
    for (uint32_t i = 0; i < count && status == PD_OK && !signals_pending(); i++)
      if (assignments_change(found[i].settings, run->settings))
        status = try_cure(run, verdict_key(c), &found[i], rounds);
  }
  if (status == PD_OK) status = try_cures_of_ranks(run, rounds);
  arena_free(&texts);
  return status;
}
