/* See interleave.h. */
#include "interleave.h"

#include "dial_run.h"
#include "run/aside.h"
#include "run/board.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"

#include <math.h>
#include <string.h>

/* For a dial, the standard error that is small enough. */
#define DIALLED_ERROR 0.015
enum { DIALLED_ROUNDS_MOST = 64 };

/* What a block of steps goes without. */
enum { BLOCK_WHOLE, BLOCK_CONTROL, BLOCK_PLAIN_LOADER, BLOCK_KINDS };

static bool is_input(const run_state *run) {
  return run->scenario->bottleneck && strcmp(run->scenario->bottleneck, "input_bound") == 0;
}

/* A loader that is the injection has to go without it in control steps, too. */
static pd_status truth_block(run_state *run, int kind, double *mean_ns) {
  const bool control = kind == BLOCK_CONTROL;
  aside steps = {.steps = aside_to_settle(run) + run->truth_block, .timed = run->truth_block, .control = control};
  data_loader_inject(run->loader, !(kind == BLOCK_PLAIN_LOADER || (control && is_input(run))));
  const pd_status status = aside_steps(run, &steps);
  data_loader_inject(run->loader, true);
  *mean_ns = steps.mean_ns;
  return status;
}

/* Rounds of a dial: what is injected is the step's alone, so that they may be short. The amount follows the pace and
 * the effect. */
static pd_status truth_turns(run_state *run) {
  aside_turns turns = {.timed = run->truth_block};
  pd_status status = aside_turns_run(run, &turns);
  if (status == PD_OK && !turns.count) return PD_STOP;
  for (uint64_t i = 0; i < turns.count && status == PD_OK; i++) status = truth_round(run->truth, &turns.pairs[i]);
  if (status != PD_OK) return status;
  double off = 0, unsure = INFINITY;
  dial_pace_round(&run->pace, run->amount, turns.pairs, turns.count);
  truth_dial(run->truth, run->pace.asked.us, run->pace.asked.share, dial_pace_mean(&run->pace));
  (void)truth_dial_effect(run->truth, &off, &unsure);
  run->amount = dial_pace_next(&run->pace, run->amount, off, unsure);
  return PD_OK;
}

/* Blocks of a round, each kind once, forwards and backwards in turn. */
static pd_status truth_blocks(run_state *run, uint64_t round, int kinds, double *mean_ns) {
  pd_status status = PD_OK;
  for (int i = 0; i < kinds && status == PD_OK; i++) {
    const int kind = round % 2 ? kinds - 1 - i : i;
    status = truth_block(run, kind, &mean_ns[kind]);
    if (status == PD_OK && isnan(mean_ns[kind])) status = PD_STOP;
  }
  return status;
}

/* Where the effect was asked for, more rounds follow those that are set, until they tell how far off it is. */
static bool is_needed(const run_state *run, uint64_t round, int64_t until_ns) {
  double off, unsure;
  if (round < run->truth_rounds) return true;
  if (!run->dialled || round >= DIALLED_ROUNDS_MOST || monotonic_ns() >= until_ns) return false;
  return !truth_dial_effect(run->truth, &off, &unsure) || unsure > DIALLED_ERROR;
}

pd_status interleave_run(run_state *run) {
  const int kinds = !is_input(run) && data_loader_is_dialled(run->loader) ? BLOCK_KINDS : BLOCK_PLAIN_LOADER;
  pd_status status = PD_OK;
  const bool in_turns = run->dialled && kinds == BLOCK_PLAIN_LOADER;
  const uint64_t steps = (uint64_t)kinds * (aside_to_settle(run) + run->truth_block);
  if (run->truth_rounds) {
    board_phase("measuring what the injection costs");
    /* How many rounds a dial will need is not known. */
    progress_enter("measuring what the injection costs", "step", run->dialled ? 0 : run->truth_rounds * steps);
  }
  const int64_t until_ns = monotonic_ns() + DIAL_RUN_ROUNDS_NS;
  for (uint64_t round = 0; status == PD_OK && !signals_pending() && is_needed(run, round, until_ns); round++) {
    double ns[BLOCK_KINDS];
    status = in_turns ? truth_turns(run) : truth_blocks(run, round, kinds, ns);
    if (status == PD_STOP && !run->stopped) return PD_OK; /* the data ended */
    if (status == PD_OK && !in_turns)
      status = truth_round(run->truth, &(truth_block_pair){ns[BLOCK_WHOLE], ns[BLOCK_CONTROL], run->amount});
    if (status == PD_OK && kinds == BLOCK_KINDS)
      status = truth_round_input(run->truth, ns[BLOCK_WHOLE], ns[BLOCK_PLAIN_LOADER]);
  }
  if (in_turns) run->amount = dial_pace_end(&run->pace, run->amount);
  return status;
}
