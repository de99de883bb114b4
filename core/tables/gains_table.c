/* The gains as a table: each cause by what the steps would save without it, then causes together. */
#include "tables.h"
#include "ledger/verdict.h"

#include <string.h>

/* A part of the step that is worth a word. */
#define COST_LEFT 0.005

/* "forced synchronisation" of "forced synchronisation: a blocking call ...". */
static const char *name_of(const table_work *work, uint32_t cause) {
  const char *text = verdict_text(cause);
  return arena_text(work->arena, text, strcspn(text, ":"));
}

/* What is slower without the cause gains nothing. */
static double at_least_nothing(double gain) { return gain > 0 ? gain : 0; }
static void percent(table_build *table, metric_id id, double share) {
  table_double(table, id, 100 * at_least_nothing(share));
}

static void add_cause(table_build *table, const table_work *work, uint32_t cause) {
  const gains_cause *of = &work->gains->causes[cause];
  table_row(table, 0);
  table_string(table, M_removed, name_of(work, cause));
  table_string(table, M_removed_cause, verdict_key(cause));
  percent(table, M_gain, of->gain);
  percent(table, M_gain_low, of->low);
  percent(table, M_gain_high, of->high);
  table_int(table, M_gain_step, (int64_t)(work->gains->step_ns * (1 - at_least_nothing(of->gain))));
  percent(table, M_gain_idle, of->idle);
  percent(table, M_gain_captured, of->captured);
  if (of->then == VERDICT_none) return;
  table_string(table, M_gain_then, verdict_key(of->then));
  percent(table, M_gain_more, of->then_gain);
}

/* The first of the ranking together, where there are several. */
static void add_together(table_build *table, const table_work *work, uint32_t count) {
  const gains *of = work->gains;
  const char *names = name_of(work, of->ranking[0]), *keys = verdict_key(of->ranking[0]);
  for (uint32_t i = 1; i < count; i++) {
    names = arena_format(work->arena, "%s + %s", names, name_of(work, of->ranking[i]));
    keys = arena_format(work->arena, "%s %s", keys, verdict_key(of->ranking[i]));
  }
  table_row(table, 0);
  table_string(table, M_removed, names);
  table_string(table, M_removed_cause, keys);
  percent(table, M_gain, of->without[count - 1].gain);
  percent(table, M_gain_low, of->without[count - 1].low);
  percent(table, M_gain_high, of->without[count - 1].high);
  table_int(table, M_gain_step, (int64_t)(of->step_ns * (1 - at_least_nothing(of->without[count - 1].gain))));
}

/* The replay takes off no more than a part of the launching and of the gaps. */
static void add_cost(table_build *table, const table_work *work) {
  const gains *of = work->gains;
  const double left_ns = of->added_ns - (of->recorded_ns - of->step_ns);
  if (of->twin_rounds)
    table_note(table,
               arena_format(work->arena,
                            "Recording adds %.1f us to a step (%.1f to %.1f), %.2f us for each of its records "
                            "(%.2f to %.2f): %u rounds in which recorded steps took turns with others.%s",
                            1e-3 * of->added_ns, 1e-3 * of->added_low_ns, 1e-3 * of->added_high_ns,
                            1e-3 * of->record_ns, 1e-3 * of->record_low_ns, 1e-3 * of->record_high_ns, of->twin_rounds,
                            of->added_low_ns > 0 ? "" : " It may be nothing, so nothing is taken off."));
  else
    table_note(table, arena_format(work->arena,
                                   "Recording adds %.1f us to a step (%.1f to %.1f by the recorded steps), %.2f us for "
                                   "each of its records, against the steps before it.",
                                   1e-3 * of->added_ns, 1e-3 * of->added_low_ns, 1e-3 * of->added_high_ns,
                                   1e-3 * of->record_ns));
  if (of->twin_rounds && of->added_low_ns <= 0) return;
  if (left_ns > COST_LEFT * of->step_ns && of->loader_ns < of->step_ns)
    table_note(table, arena_format(work->arena,
                                   "%.1f us of it cannot be taken off: the gains are of a step that still has them.",
                                   1e-3 * left_ns));
}

static void add_notes(table_build *table, const table_work *work) {
  const gains *of = work->gains;
  if (!of->is_judged) {
    table_note(table, "There are no steps with launches and device records to replay.");
    return;
  }
  table_note(table, arena_format(work->arena,
                                 "Replayed with nothing removed, a step differs from the recorded one by "
                                 "%.2f %% (median) and %.2f %% (worst).",
                                 100 * of->miss_median, 100 * of->miss_worst));
  if (of->cost_known && of->added_ns > 0) add_cost(table, work);
  if (of->loader_ns >= of->step_ns)
    table_note(table,
               arena_format(work->arena,
                            "The loader's workers need %.1f us for a batch: with as many of them a step takes no less, "
                            "whatever else is removed.",
                            1e-3 * of->loader_ns));
  if (of->keep < 1)
    table_note(table, arena_format(work->arena,
                                   "%.0f %% of the host's time in launching is taken as the recorder's. So is this "
                                   "part of the gaps between queued kernels, but for what the device itself takes.",
                                   100 * (1 - of->keep)));
}

const pd_table *gains_table(const table_work *work) {
  const gains *of = work->gains;
  bool done[VERDICT_COUNT] = {false};
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "gains", "Gains",
              "What the steps would save without a cause, by replaying them. Gains do not add up.");
  add_notes(&table, work);
  TABLE_COLUMNS(&table, M_removed, M_removed_cause, M_gain, M_gain_low, M_gain_high, M_gain_step, M_gain_idle,
                M_gain_captured, M_gain_then, M_gain_more);
  for (uint32_t n = 0; of->is_judged && n < VERDICT_none; n++) {
    uint32_t best = n < of->ranked ? of->ranking[n] : VERDICT_none;
    for (uint32_t c = 0; n >= of->ranked && c < VERDICT_none; c++)
      if (!done[c] && of->causes[c].applies && (best == VERDICT_none || of->causes[c].gain > of->causes[best].gain))
        best = c;
    if (best == VERDICT_none) break;
    done[best] = true;
    add_cause(&table, work, best);
  }
  for (uint32_t count = 2; count <= of->ranked; count++) add_together(&table, work, count);
  return table_done(&table);
}
