/* See dial_run.h. */
#include "dial_run.h"

#include "dial.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "run/aside.h"
#include "run/board.h"

#include <math.h>
#include <string.h>

_Static_assert((int)ASIDE_PAIRS_MOST <= (int)DIAL_PAIRS_ONCE, "a round fits");

enum { COUNTS = 64 }; /* more than a search tries */

typedef struct dial_loop {
  run_state *run;
  double counts[COUNTS]; /* that steps have had */
  int prepared;
} dial_loop;

static pd_status one_round(run_state *run, aside_turns *turns) {
  *turns = (aside_turns){.timed = (uint64_t)run->settings->truth.block};
  const pd_status status = aside_turns_run(run, turns);
  if (status != PD_OK) return status;
  return !turns->count || signals_pending() ? PD_STOP : PD_OK; /* the data ended */
}

/* The first steps with a count are slow where it makes shapes that the device has not had: it looks for the best
 * kernels of each. */
static pd_status prepare_count(dial_loop *self, double whole) {
  run_state *run = self->run;
  aside first = {.steps = 2};
  for (int i = 0; i < self->prepared; i++)
    if (self->counts[i] == whole) return PD_OK;
  if (self->prepared < COUNTS) self->counts[self->prepared++] = whole;
  run->amount = whole;
  return aside_steps(run, &first);
}

static pd_status prepare(void *user, double amount) {
  dial_loop *self = user;
  if (!self->run->dialled_count) return PD_OK;
  const pd_status status = prepare_count(self, floor(amount));
  return status == PD_OK && amount > floor(amount) ? prepare_count(self, floor(amount) + 1) : status;
}

static pd_status pairs_of(void *user, double amount, truth_block_pair *out, uint64_t *count) {
  run_state *run = ((dial_loop *)user)->run;
  aside_turns turns;
  run->amount = amount;
  const pd_status status = one_round(run, &turns);
  *count = turns.count;
  if (status != PD_OK) return status;
  memcpy(out, turns.pairs, turns.count * sizeof *out);
  dial_pace_see(&run->pace, turns.pairs, turns.count);
  return PD_OK;
}

static int64_t now_ns(void *user) {
  (void)user;
  return monotonic_ns();
}

pd_status dial_run(run_state *run) {
  dial_loop loop = {.run = run};
  const dial_source source = {prepare, pairs_of, now_ns, &loop};
  config_dial asked;
  if (!config_dial_of(run->settings, &asked)) return PD_OK;
  run->pace = (dial_pace){.seen = 0};
  board_phase("setting the dial by control steps");
  progress_enter("setting the dial by control steps", "step", 0);
  run->dialled = true;
  run->dialled_count = asked.is_count;
  run->amount = asked.none;
  aside_turns ignored;
  double amount = asked.start;
  pd_status status = one_round(run, &ignored); /* the first steps take longer */
  if (status == PD_OK) status = dial_find(&asked, &source, DIAL_RUN_LIMIT_NS, &amount);
  if (status != PD_OK) return status == PD_STOP && !run->stopped ? PD_OK : status;
  run->amount = amount;
  dial_pace_set(&run->pace, &asked, amount);
  if (amount >= asked.most)
    log_line(PD_LOG_WARN, NULL, "[scenario] %s: %.4g is its maximum, and more may be needed for what was asked for",
             asked.key, asked.most);
  truth_dial(run->truth, asked.us, asked.share, amount);
  log_line(PD_LOG_DEBUG, NULL, "%s = %.4g stands for what was asked for, as control steps say", asked.key, amount);
  return PD_OK;
}
