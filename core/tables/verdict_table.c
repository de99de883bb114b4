/* The verdict as a table of one row: which steps it rests on, what withholds it, and its words. */
#include "facts/intervals.h"
#include "tables.h"
#include "ledger/verdict.h"
#include "ledger/verdict_advice.h"
#include "ledger/verdict_repeat.h"

#include <pdhost/quantity.h>

#include <stdlib.h>
#include <string.h>

/* Below this share of the draws a verdict is called possible. */
#define VERDICT_CERTAIN 0.9
/* What takes less of the steps is not worth a word. */
#define SAID_PERCENT 1

typedef struct findings {
  int64_t rows[LEDGER_CAUSE_COUNT]; /* of those steps */
  int64_t span_ns;                  /* without what the profiler adds */
  uint64_t passes, steps;           /* steps: the judged ones that the verdict rests on */
  uint32_t cause, second;           /* second: the largest of the others */
  uint64_t agreeing, draws;         /* of so many draws of the judged steps */
} findings;

static double percent(const findings *of, int64_t time) {
  return of->span_ns ? 100 * (double)time / (double)of->span_ns : 0;
}

static int64_t time_of(const findings *of, uint32_t cause) { return verdict_time(of->rows, cause, of->passes); }

static verdict_basis basis_of(const table_work *work) {
  return (verdict_basis){.blocking =
                             work->ledger->blocking_steps && work->ledger->blocking_steps >= work->facts->step_count,
                         .passes = work->ledger->passes,
                         .is_cuda = work->is_cuda};
}

static int64_t span_of(const trace_facts *facts, uint64_t step) {
  return facts_span(facts_step(facts, step)->start_ns, facts_step(facts, step)->end_ns);
}

typedef struct step_span {
  int64_t span_ns;
  uint64_t step;
} step_span;

static int by_span(const void *a, const void *b) {
  const step_span *x = a, *y = b;
  if (x->span_ns != y->span_ns) return x->span_ns < y->span_ns ? -1 : 1;
  return (x->step > y->step) - (x->step < y->step);
}

/* The first step that can be judged. Where nothing synchronises, the device still works for earlier steps when the
 * window begins, and no record says so. */
static uint64_t first_judged(const trace_facts *facts) {
  uint64_t step = 0, row = 0;
  if (facts->trace->sync_timing) return 0;
  while (row < facts->activity_count && facts_activity(facts, row)->step == PD_NONE) row++;
  if (row == facts->activity_count) return 0;
  while (step < facts->step_count && facts_step(facts, step)->start_ns < facts_activity(facts, row)->start_ns) step++;
  return step;
}

/* Share of the device's work for the steps that is done while any of them lasts on the host. */
static bool share_within_steps(const trace_facts *facts, double *share) {
  intervals work = {0}, steps = {0}, within = {0};
  bool ok = true;
  for (uint64_t i = 0; ok && i < facts->activity_count; i++) {
    const pd_device_row *row = facts_activity(facts, i);
    ok = row->step == PD_NONE || intervals_add(&work, row->start_ns, row->end_ns);
  }
  for (uint64_t s = 0; ok && s < facts->step_count; s++)
    ok = intervals_add(&steps, facts_step(facts, s)->start_ns, facts_step(facts, s)->end_ns);
  ok = ok && intervals_merge(&work) && intervals_merge(&steps) && intervals_intersect(&work, &steps, &within);
  const int64_t whole = intervals_length(&work);
  *share = ok && whole ? (double)intervals_length(&within) / (double)whole : 1;
  intervals_free(&work);
  intervals_free(&steps);
  intervals_free(&within);
  return ok;
}

/* The steps from the shortest to the longest. */
static bool sort_steps(const table_work *work, uint64_t first, verdict_steps *out) {
  const trace_facts *facts = work->facts;
  const uint64_t count = facts->step_count - first;
  step_span *order = arena_take(work->arena, (count + 1) * sizeof *order);
  const int64_t **rows = arena_take(work->arena, (count + 1) * sizeof *rows);
  int64_t *spans_ns = arena_take(work->arena, (count + 1) * sizeof *spans_ns);
  if (!order || !rows || !spans_ns) return false;
  for (uint64_t s = 0; s < count; s++) order[s] = (step_span){span_of(facts, first + s), first + s};
  qsort(order, count, sizeof *order, by_span);
  for (uint64_t s = 0; s < count; s++) {
    rows[s] = work->ledger->rows + order[s].step * LEDGER_CAUSE_COUNT;
    spans_ns[s] = order[s].span_ns;
  }
  *out = (verdict_steps){rows, spans_ns, count};
  return true;
}

/* The steps that the verdict rests on, added up. */
static void add_steps(const table_work *work, const verdict_steps *steps, findings *out) {
  *out = (findings){.passes = work->ledger->passes, .steps = steps->count - steps->count / VERDICT_TRIM};
  for (uint64_t s = 0; s < out->steps; s++) {
    out->span_ns += steps->spans_ns[s];
    for (uint32_t c = 0; c < LEDGER_CAUSE_COUNT; c++) out->rows[c] += steps->rows[s][c];
  }
  out->span_ns -= out->rows[LEDGER_profiler];
}

static bool find(const table_work *work, findings *out) {
  const verdict_basis basis = basis_of(work);
  verdict_steps steps;
  if (!sort_steps(work, first_judged(work->facts), &steps)) return false;
  uint64_t *counts = arena_take(work->arena, steps.count * sizeof *counts);
  if (!counts) return false;
  add_steps(work, &steps, out);
  out->cause = verdict_of(out->rows, out->span_ns + out->rows[LEDGER_profiler], &basis);
  out->second = VERDICT_COUNT;
  for (uint32_t c = 0; c < VERDICT_none; c++) {
    if (c == out->cause || c == VERDICT_profiler || !verdict_applies(c, &basis)) continue;
    if (out->second == VERDICT_COUNT || time_of(out, c) > time_of(out, out->second)) out->second = c;
  }
  out->agreeing = verdict_agreeing_draws(&steps, &basis, out->cause, counts, &out->draws);
  return true;
}

/* "15.7 ms" of each of the steps. */
static const char *per_step(const table_work *work, const findings *of, int64_t time_ns) {
  char text[32];
  pd_text_time(text, sizeof text, (double)time_ns / (double)of->steps);
  return arena_text(work->arena, text, strlen(text));
}

/* "574", "1.25". */
static const char *count_per_step(const table_work *work, uint64_t count) {
  return arena_format(work->arena, "%.4g", (double)count / (double)work->facts->step_count);
}

static const char *bytes_per_step(const table_work *work, uint64_t bytes) {
  char text[32];
  pd_text_bytes(text, sizeof text, (double)bytes / (double)work->facts->step_count);
  return arena_text(work->arena, text, strlen(text));
}

static int64_t busy_time(const findings *of) {
  int64_t busy = 0;
  for (uint32_t owner = 0; owner < LEDGER_FIRST_IDLE; owner++) busy += of->rows[owner];
  return busy;
}

static const char *evidence(const table_work *work, const findings *of) {
  const ledger *owners = work->ledger;
  const int64_t *rows = of->rows;
  switch (of->cause) {
  case VERDICT_input_bound:
    return arena_format(work->arena, "the device waits %s per step for a batch: I/O %s, CPU work %s, hand-over %s%s",
                        per_step(work, of, time_of(of, of->cause) - rows[LEDGER_copy_late]),
                        per_step(work, of, rows[LEDGER_input_io]), per_step(work, of, rows[LEDGER_input_cpu]),
                        per_step(work, of, rows[LEDGER_input_handover]),
                        rows[LEDGER_copy_late] ? arena_format(work->arena, "; copies of late batches take %s",
                                                              per_step(work, of, rows[LEDGER_copy_late]))
                                               : "");
  case VERDICT_forced_sync:
    return arena_format(work->arena,
                        "%s blocking calls per step inside train_step; the device is idle behind them for %s, and "
                        "copies to pageable memory take %s",
                        count_per_step(work, owners->blocking_calls), per_step(work, of, rows[LEDGER_forced_sync]),
                        per_step(work, of, rows[LEDGER_copy_read]));
  case VERDICT_allocator:
    return arena_format(work->arena,
                        "%s temporaries of %s together per step: %s in kernels on them, %s idle in the allocator",
                        count_per_step(work, owners->allocations), bytes_per_step(work, owners->allocated_bytes),
                        per_step(work, of, rows[LEDGER_temporaries]), per_step(work, of, rows[LEDGER_allocator]));
  case VERDICT_launch_bound:
    return arena_format(work->arena,
                        "%s launches per step: %s idle while the host launches, %s between queued ones, %s in kernels "
                        "too short to be worth one",
                        count_per_step(work, owners->launches), per_step(work, of, rows[LEDGER_launch]),
                        per_step(work, of, rows[LEDGER_launch_gap]), per_step(work, of, rows[LEDGER_tiny_kernels]));
  case VERDICT_small_batch:
    return arena_format(work->arena,
                        "%llu passes through the model in each step, with %s launches together: %s in kernels for what "
                        "one pass would not need, %s in launches",
                        (unsigned long long)owners->passes, count_per_step(work, owners->launches),
                        per_step(work, of, rows[LEDGER_passes]),
                        per_step(work, of, time_of(of, of->cause) - rows[LEDGER_passes]));
  case VERDICT_serial_streams:
    return arena_format(work->arena,
                        "in each step kernels of one stream run for %s while those of another, launched already, wait "
                        "for an event; side by side the step would be that much shorter",
                        per_step(work, of, rows[LEDGER_serialised]));
  case VERDICT_pageable_copy:
    return arena_format(work->arena, "in each step %s in pageable copies alone, %s idle while they are staged",
                        per_step(work, of, rows[LEDGER_copy_pageable]), per_step(work, of, rows[LEDGER_transfer]));
  case VERDICT_none:
    return arena_format(work->arena, "the device works on the model for %s of each step, %.1f %% of it",
                        per_step(work, of, time_of(of, VERDICT_none)), percent(of, time_of(of, VERDICT_none)));
  default: return arena_format(work->arena, "%s of each step", per_step(work, of, time_of(of, of->cause)));
  }
}

/* What the shares leave out, or that it is not known. */
static const char *recording_adds(const table_work *work, const findings *of) {
  const pd_trace *trace = work->facts->trace;
  if (of->cause != VERDICT_profiler && of->rows[LEDGER_profiler])
    return arena_format(work->arena, "; recording adds %s a step, left out here",
                        per_step(work, of, of->rows[LEDGER_profiler]));
  if (work->is_cuda && trace->sync_timing && trace->unprofiled_step_ns <= 0)
    return "; what recording adds is not known: there were no three steps before it";
  return "";
}

/* "pageable copies (1.2 %)" of "pageable copies: the device waits ...". */
static const char *named_share(const table_work *work, const findings *of, uint32_t cause) {
  return arena_format(work->arena, "%.*s (%.1f %%)", (int)strcspn(verdict_text(cause), ":"), verdict_text(cause),
                      percent(of, time_of(of, cause)));
}

/* The largest of the other causes, then what the rest of the step is. */
static const char *ruled_out(const table_work *work, const findings *of) {
  const double kernels = percent(of, of->rows[LEDGER_compute]), own = percent(of, of->rows[LEDGER_measurement]);
  const char *text = named_share(work, of, of->second);
  if (of->cause != VERDICT_none && kernels >= SAID_PERCENT)
    text = arena_format(work->arena, "%s; kernels take %.1f %%", text, kernels);
  if (own >= SAID_PERCENT)
    text = arena_format(work->arena, "%s; the measurement's synchronisations take %.1f %%", text, own);
  return text;
}

/* The verdict in one line; hedged where other steps of the run might have given another. */
static const char *sentence(const table_work *work, const findings *of) {
  const char *hedge = (double)of->agreeing < VERDICT_CERTAIN * (double)of->draws ? "possibly " : "";
  if (of->cause == VERDICT_none)
    return arena_format(work->arena, "%s%s: the device is busy %.0f %% of the step", hedge, verdict_text(of->cause),
                        percent(of, busy_time(of)));
  return arena_format(work->arena, "%s%s", hedge, verdict_text(of->cause));
}

/* Why the host's steps do not show what the device does for them. */
static bool withheld_unsynchronised(const table_work *work, const char **why) {
  const trace_facts *facts = work->facts;
  const uint64_t first = first_judged(facts);
  double share;
  *why = NULL;
  if (facts->trace->sync_timing) return true;
  if (!share_within_steps(facts, &share)) return false;
  if (share < VERDICT_MIN_WITHIN)
    *why = arena_format(work->arena,
                        "withheld: the host runs ahead, and the device does %.1f %% of the steps' work outside of "
                        "them; set run.sync_timing = true",
                        100 * (1 - share));
  else if (facts->step_count - first < VERDICT_MIN_STEPS)
    *why = arena_format(work->arena,
                        "withheld: only %llu of %llu active steps begin after the device has begun with their work, "
                        "%d are needed; set run.sync_timing = true or schedule.active higher",
                        (unsigned long long)(facts->step_count - first), (unsigned long long)facts->step_count,
                        VERDICT_MIN_STEPS);
  return true;
}

static const char *withheld(const table_work *work) {
  const pd_trace *trace = work->facts->trace;
  const double coverage = pd_trace_coverage(trace);
  if (trace->profile != PD_PROFILE_FULL)
    return arena_format(work->arena, "withheld: no device records%s%s", trace->profile_note ? ": " : "",
                        trace->profile_note ? trace->profile_note : "");
  if (isnan(coverage)) return "withheld: operations ran, and not one launch of theirs was recorded";
  if (coverage < VERDICT_MIN_COVERAGE)
    return arena_format(work->arena, "withheld: only %.2f %% of the launches have their device record", 100 * coverage);
  if (work->facts->step_count < VERDICT_MIN_STEPS)
    return arena_format(work->arena, "withheld: %llu active steps are too few, %d are needed",
                        (unsigned long long)work->facts->step_count, VERDICT_MIN_STEPS);
  return NULL;
}

/* What the steps cannot show, and their confidence does not know. */
static const char *disturbance(const table_work *work) {
  const char *what = work->context->disturbance;
  return what ? arena_format(work->arena, "Less sure than the confidence says: %s.", what) : NULL;
}

static verdict_advice advice_on(const table_work *work, const findings *of) {
  const analysis_context *run = work->context;
  const verdict_setting setting = {.facts = work->facts,
                                   .ledger = work->ledger,
                                   .cures = run->cures,
                                   .offers = run->offers,
                                   .cores = run->cores,
                                   .num_workers = run->num_workers,
                                   .is_cuda = work->is_cuda,
                                   .arena = work->arena};
  return verdict_advise(&setting, of->cause, of->rows, of->span_ns / (int64_t)of->steps, of->steps);
}

const pd_table *verdict_table(const table_work *work) {
  const char *command =
      work->context->command_line && work->context->command_line[0] ? work->context->command_line : "pdhost";
  const char *why_not = withheld(work);
  findings of;
  if (!why_not && !withheld_unsynchronised(work, &why_not)) return NULL;
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "verdict", "Verdict", disturbance(work));
  TABLE_COLUMNS(&table, M_verdict, M_verdict_cause, M_verdict_share, M_verdict_repeatable, M_verdict_evidence,
                M_verdict_not, M_verdict_next, M_verdict_overrides, M_verdict_step, M_verdict_expected);
  table_row(&table, 0);
  table_row_flags(&table, PD_ROW_RECORD);
  if (why_not) {
    table_string(&table, M_verdict, why_not);
    table_string(&table, M_verdict_cause, "withheld");
    return table_done(&table);
  }
  if (!find(work, &of)) return NULL;
  const int64_t time = time_of(&of, of.cause), steps = (int64_t)of.steps;
  const verdict_advice advice = advice_on(work, &of);
  table_string(&table, M_verdict, sentence(work, &of));
  table_string(&table, M_verdict_cause, verdict_key(of.cause));
  table_percent(&table, M_verdict_share, time, of.span_ns + (of.cause == VERDICT_profiler ? time : 0));
  table_percent(&table, M_verdict_repeatable, (int64_t)of.agreeing, (int64_t)of.draws);
  table_string(&table, M_verdict_evidence,
               arena_format(work->arena, "%s%s", evidence(work, &of), recording_adds(work, &of)));
  table_string(&table, M_verdict_not, ruled_out(work, &of));
  table_string(&table, M_verdict_next, arena_format(work->arena, "%s %s", command, advice.options));
  if (advice.overrides) table_string(&table, M_verdict_overrides, advice.overrides);
  table_int(&table, M_verdict_step, of.span_ns / steps);
  if (of.cause != VERDICT_none) table_int(&table, M_verdict_expected, (of.span_ns - advice.saved_ns) / steps);
  return table_done(&table);
}
