/* The verdict as a table of one row: the cause whose removal brings most, what withholds it, and its words. */
#include "tables.h"
#include "verdict_evidence.h"
#include "verdict_withheld.h"
#include "ledger/verdict.h"
#include "ledger/cures.h"

/* Whether pdhost ran the loop itself. */
static bool is_ours(const table_work *work) { return work->facts->trace->facts & PD_FACT_TRAIN; }

/* The recorder is named where nothing else is, and where the run itself says what it costs. */
static uint32_t cause_of(const table_work *work) {
  const gains *of = work->gains;
  const double least = work->is_cuda ? GAINS_LEAST_CUDA : GAINS_LEAST_OTHER;
  const bool recorder = of->cause == VERDICT_none && of->cost_known && of->recorded_ns > 0;
  return recorder && 1 - of->step_ns / of->recorded_ns >= least ? VERDICT_profiler : of->cause;
}

static bool mostly_copies(const table_work *work, uint32_t cause) {
  return cause == VERDICT_none && verdict_copying(work) >= VERDICT_ALONE_SAID;
}

/* Collectives with nothing beside them may be waits for another rank, which the records of one rank do not tell from
 * transfers: where that could be a bottleneck, this rank alone cannot say that there is none. */
static const char *why_undecided(const table_work *work, uint32_t cause, verdict_remedy *remedy) {
  const double least = work->is_cuda ? GAINS_LEAST_CUDA : GAINS_LEAST_OTHER, share = verdict_communicating(work);
  if (cause != VERDICT_none || mostly_copies(work, cause) || share < least) return NULL;
  remedy->helps = VERDICT_COMMUNICATION_HELPS;
  return arena_format(work->arena,
                      "withheld: collectives take %.0f %% of the step with nothing beside them; one rank's records do "
                      "not tell whether they transfer or wait for another rank",
                      100 * share);
}

/* What a busy device is busy with, where that is no computing. */
static const char *busy_with(const table_work *work, uint32_t cause) {
  if (mostly_copies(work, cause))
    return arena_format(work->arena, ", %.0f %% of it with copies alone", 100 * verdict_copying(work));
  return "";
}

/* A cause may be the largest that one rank can tell, and still be less than what its collectives take. */
static const char *beside(const table_work *work, uint32_t cause) {
  const double share = verdict_communicating(work);
  if (share < VERDICT_ALONE_SAID || share <= work->gains->causes[cause].gain) return "";
  return arena_format(work->arena, "; communication alone takes %.0f %% of the step", 100 * share);
}

/* The verdict in one line; hedged where other steps of the run, a quiet machine, or another cost of recording might
 * have given another. */
static const char *sentence(const table_work *work, uint32_t cause) {
  const gains *of = work->gains;
  const bool is_sure = !work->context->disturbance && gains_are_sure(of);
  const char *hedge = is_sure ? "" : "possibly ";
  if (cause == VERDICT_none && of->busy < VERDICT_BUSY_ENOUGH)
    return arena_format(work->arena, "%sno known bottleneck found, but the device is idle %.0f %% of the step", hedge,
                        100 * (1 - of->busy));
  if (cause == VERDICT_none)
    return arena_format(work->arena, "%s%s: the device is busy %.0f %% of the step%s", hedge, verdict_text(cause),
                        100 * of->busy, busy_with(work, cause));
  return arena_format(work->arena, "%s%s%s", hedge, verdict_text(cause), beside(work, cause));
}

/* What the steps cannot show, and their confidence does not know. */
static const char *disturbance(const table_work *work) {
  const char *what = work->context->disturbance;
  return what ? arena_format(work->arena, "Less sure than the resamples say: %s.", what) : NULL;
}

static double share_of(const table_work *work, uint32_t cause) {
  const gains *of = work->gains;
  if (cause == VERDICT_none) return of->busy;
  return cause == VERDICT_profiler ? 1 - of->step_ns / of->recorded_ns : of->causes[cause].gain;
}

static verdict_advice advice_on(const table_work *work, uint32_t cause) {
  const analysis_context *run = work->context;
  const verdict_setting setting = {.facts = work->facts,
                                   .gains = work->gains,
                                   .cures = run->cures,
                                   .offers = run->offers,
                                   .cores = run->cores,
                                   .num_workers = run->num_workers,
                                   .is_cuda = work->is_cuda,
                                   .arena = work->arena};
  return verdict_advise(&setting, cause);
}

static const char *helps_of(const table_work *work, uint32_t cause) {
  const gains *of = work->gains;
  const bool is_server = work->facts->trace->facts & PD_FACT_SERVING;
  if (mostly_copies(work, cause)) return verdict_helps(VERDICT_pinned_copy);
  if (cause == VERDICT_launch_bound && facts_mostly_graphs(work->facts)) return VERDICT_GRAPHS_HELPS;
  if (cause == VERDICT_none && of->busy < VERDICT_BUSY_ENOUGH) return VERDICT_IDLE_HELPS;
  return is_server && verdict_server_helps(cause) ? verdict_server_helps(cause) : verdict_helps(cause);
}

/* Settings are our own runs': another program's window has no command of ours behind it. What several ranks
 * say together has a command of its own. */
static void say_next(table_build *table, const table_work *work, const verdict_advice *advice) {
  const char *command = work->context->command_line;
  const analysis_follow_up *follow_up = work->context->follow_up;
  if (!is_ours(work)) {
    if (follow_up && follow_up->again) table_string(table, M_verdict_after, follow_up->again);
    return;
  }
  if (work->context->of_ranks) return;
  table_string(table, M_verdict_next,
               arena_format(work->arena, "%s %s", command && command[0] ? command : "pdhost", advice->options));
  if (advice->overrides) table_string(table, M_verdict_overrides, advice->overrides);
}

const pd_table *verdict_table(const table_work *work) {
  const gains *of = work->gains;
  verdict_remedy remedy = {.helps = NULL};
  const uint32_t cause = cause_of(work);
  const char *why_not = verdict_withheld(work->facts, work->gains, work->arena, &remedy);
  if (!why_not) why_not = why_undecided(work, cause, &remedy);
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "verdict", "Verdict", disturbance(work));
  TABLE_COLUMNS(&table, M_verdict, M_verdict_cause, M_verdict_share, M_verdict_repeatable, M_verdict_evidence,
                M_verdict_others, M_verdict_helps, M_verdict_next, M_verdict_after, M_verdict_overrides, M_verdict_step,
                M_verdict_expected);
  table_row(&table, 0);
  table_row_flags(&table, PD_ROW_RECORD);
  if (why_not) {
    table_string(&table, M_verdict, why_not);
    table_string(&table, M_verdict_cause, "withheld");
    table_string(&table, M_verdict_helps, remedy.helps);
    if (remedy.steps_unknown && work->context->follow_up && work->context->follow_up->steps)
      table_string(&table, M_verdict_next, work->context->follow_up->steps);
    return table_done(&table);
  }
  const verdict_advice advice = advice_on(work, cause);
  table_string(&table, M_verdict, sentence(work, cause));
  table_string(&table, M_verdict_cause, verdict_key(cause));
  table_double(&table, M_verdict_share, 100 * share_of(work, cause));
  table_percent(&table, M_verdict_repeatable, (int64_t)of->agreeing, (int64_t)of->draws);
  table_string(&table, M_verdict_evidence, verdict_evidence(work, cause));
  table_string(&table, M_verdict_others, verdict_other_causes(work, cause));
  table_string(&table, M_verdict_helps, helps_of(work, cause));
  say_next(&table, work, &advice);
  table_int(&table, M_verdict_step, (int64_t)of->step_ns);
  const double gain = of->causes[cause].gain, saved = is_ours(work) ? cure_saves(&advice.saves, gain) : gain;
  if (cause < VERDICT_profiler) table_int(&table, M_verdict_expected, (int64_t)(of->step_ns * (1 - saved)));
  return table_done(&table);
}
