/* See interleave.h. */
#include "interleave.h"

#include "run/aside.h"
#include "base/progress_line.h"
#include "base/signals.h"

#include <math.h>
#include <string.h>

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

pd_status interleave_run(run_state *run) {
  const int kinds = !is_input(run) && data_loader_is_dialled(run->loader) ? BLOCK_KINDS : BLOCK_PLAIN_LOADER;
  pd_status status = PD_OK;
  if (run->truth_rounds)
    progress_enter("measuring what the injection costs", "step",
                   run->truth_rounds * (uint64_t)kinds * (aside_to_settle(run) + run->truth_block));
  for (uint64_t round = 0; round < run->truth_rounds && status == PD_OK && !signals_pending(); round++) {
    double ns[BLOCK_KINDS];
    status = truth_blocks(run, round, kinds, ns);
    if (status == PD_STOP && !run->stopped) return PD_OK; /* the data ended */
    if (status == PD_OK) status = truth_round(run->truth, ns[BLOCK_WHOLE], ns[BLOCK_CONTROL]);
    if (status == PD_OK && kinds == BLOCK_KINDS)
      status = truth_round_input(run->truth, ns[BLOCK_WHOLE], ns[BLOCK_PLAIN_LOADER]);
  }
  return status;
}
