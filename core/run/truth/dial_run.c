/* See dial_run.h. */
#include "dial_run.h"

#include "dial.h"
#include "truth_effect.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "run/aside.h"
#include "run/board.h"

#include <math.h>

/* Pairs of a trial. */
enum { PAIRS_LEAST = 12, PAIRS_MOST = 512 };

typedef struct dialling {
  run_state *run;
  const config_dial *asked;
  int64_t until_ns;
} dialling;

static pd_status one_round(run_state *run, aside_turns *turns) {
  *turns = (aside_turns){.timed = (uint64_t)run->settings->truth.block};
  const pd_status status = aside_turns_run(run, turns);
  if (status != PD_OK) return status;
  return !turns->count || signals_pending() ? PD_STOP : PD_OK; /* the data ended */
}

/* What is far off has to be known less well. */
static bool is_enough(const config_dial *asked, double close, const truth_effect *effect) {
  enum { FAR = 4 };
  const double wanted_ns = dial_wanted_ns(asked->us, asked->share, effect->without_ns);
  return effect->error_ns <= fmax(close * wanted_ns, fabs(effect->added_ns - wanted_ns) / FAR);
}

static pd_status trial(void *user, dial_trial *out) {
  const dialling *self = user;
  truth_block_pair pairs[PAIRS_MOST + ASIDE_PAIRS_MOST];
  truth_rounds all = {pairs, 0};
  truth_effect effect = {0};
  aside_turns turns;
  self->run->amount = out->amount;
  while (all.count < PAIRS_MOST) {
    const pd_status status = one_round(self->run, &turns);
    if (status != PD_OK) return status;
    for (uint64_t i = 0; i < turns.count; i++)
      pairs[all.count++] = (truth_block_pair){turns.pairs[i].with_ns, turns.pairs[i].without_ns};
    out->last = monotonic_ns() > self->until_ns;
    if (all.count < PAIRS_LEAST) continue;
    if (!truth_effect_of(&all, &effect)) return PD_NO_MEMORY;
    out->with_ns = effect.without_ns + effect.added_ns;
    out->without_ns = effect.without_ns;
    if (out->last || is_enough(self->asked, out->close, &effect)) break;
  }
  return PD_OK;
}

pd_status dial_run(run_state *run) {
  config_dial asked;
  double amount = 0;
  if (!config_dial_of(run->settings, &asked)) return PD_OK;
  board_phase("setting the dial by control steps");
  progress_enter("setting the dial by control steps", "step", 0);
  dialling self = {run, &asked, monotonic_ns() + DIAL_RUN_LIMIT_NS};
  run->dialled = true;
  run->amount = asked.start;
  aside_turns ignored;
  pd_status status = one_round(run, &ignored); /* the first steps take longer */
  if (status == PD_OK) status = dial_find(&asked, trial, &self, &amount);
  if (status != PD_OK) return status == PD_STOP && !run->stopped ? PD_OK : status;
  run->amount = amount;
  if (amount >= asked.most)
    log_line(PD_LOG_WARN, NULL, "[scenario] %s: %.4g is its maximum, and more may be needed for what was asked for",
             asked.key, asked.most);
  truth_dial(run->truth, asked.us, asked.share);
  log_line(PD_LOG_DEBUG, NULL, "%s = %.4g stands for what was asked for, as control steps say", asked.key, amount);
  return PD_OK;
}
