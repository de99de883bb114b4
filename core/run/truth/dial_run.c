/* See dial_run.h. */
#include "dial_run.h"

#include "dial.h"
#include "base/log.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "base/statistics.h"
#include "run/aside.h"

#include <math.h>

/* Rounds of a trial: their median is not moved by one that the machine held up. */
enum { TRIAL_ROUNDS = 5 };

static pd_status block(run_state *run, bool control, double *mean_ns) {
  const uint64_t timed = (uint64_t)run->settings->truth.block;
  aside steps = {.steps = aside_to_settle(run) + timed, .timed = timed, .control = control};
  const pd_status status = aside_steps(run, &steps);
  *mean_ns = steps.mean_ns;
  if (status != PD_OK) return status;
  return isnan(steps.mean_ns) || signals_pending() ? PD_STOP : PD_OK; /* the data ended */
}

static pd_status trial(void *user, double amount, double *with_ns, double *without_ns) {
  run_state *run = user;
  double with[TRIAL_ROUNDS], without[TRIAL_ROUNDS];
  statistics spread;
  run->amount = amount;
  for (int i = 0; i < TRIAL_ROUNDS; i++) {
    pd_status status = i % 2 ? block(run, true, &without[i]) : block(run, false, &with[i]);
    if (status == PD_OK) status = i % 2 ? block(run, false, &with[i]) : block(run, true, &without[i]);
    if (status != PD_OK) return status;
  }
  if (!statistics_make(with, TRIAL_ROUNDS, &spread)) return PD_NO_MEMORY;
  *with_ns = spread.median;
  if (!statistics_make(without, TRIAL_ROUNDS, &spread)) return PD_NO_MEMORY;
  *without_ns = spread.median;
  return PD_OK;
}

pd_status dial_run(run_state *run) {
  config_dial asked;
  double amount = 0;
  if (!config_dial_of(run->settings, &asked)) return PD_OK;
  progress_enter("setting the dial by control steps", "step", 0);
  run->dialled = true;
  run->amount = asked.start;
  double ignored;
  pd_status status = block(run, false, &ignored); /* the first steps take longer */
  if (status == PD_OK) status = dial_find(&asked, trial, run, &amount);
  if (status != PD_OK) return status == PD_STOP && !run->stopped ? PD_OK : status;
  run->amount = amount;
  if (amount >= asked.most)
    log_line(PD_LOG_WARN, NULL, "[scenario] %s: %.4g is its maximum, and more may be needed for what was asked for",
             asked.key, asked.most);
  truth_dial(run->truth, asked.us, asked.share);
  log_line(PD_LOG_DEBUG, NULL, "%s = %.4g stands for what was asked for, as control steps say", asked.key, amount);
  return PD_OK;
}
