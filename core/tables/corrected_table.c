/* The step with what recording adds taken off: for who asks for it, under a name of its own. */
#include "tables.h"

#include <math.h>

enum { STEP, ADDED };

static void add_row(table_build *table, const char *name, int kind, const double ns[3], double of_ns) {
  table_row(table, 0);
  table_string(table, M_corrected_part, name);
  table_int(table, M_corrected_time, (int64_t)llround(ns[0]));
  if (ns[2] > ns[1]) {
    table_int(table, M_corrected_low, (int64_t)llround(ns[1]));
    table_int(table, M_corrected_high, (int64_t)llround(ns[2]));
  }
  if (kind == ADDED && of_ns > 0) table_double(table, M_corrected_share, 100 * ns[0] / of_ns);
}

/* What recording adds to a step, and the ends of its interval; where both are the same, none is known. */
static void find_added(const gains *of, double added[3]) {
  if (of->cost_known) {
    added[0] = of->added_ns;
    added[1] = fmax(0, of->added_low_ns);
    added[2] = fmax(0, of->added_high_ns);
  } else {
    added[0] = added[1] = added[2] = fmax(0, of->recorded_ns - of->step_ns);
  }
}

static void add_rows(table_build *table, const gains *of) {
  double added[3];
  find_added(of, added);
  const double recorded[3] = {of->recorded_ns};
  const double without[3] = {of->recorded_ns - added[0], of->recorded_ns - added[2], of->recorded_ns - added[1]};
  add_row(table, "step as recorded", STEP, recorded, 0);
  add_row(table, "what recording adds", ADDED, added, of->recorded_ns);
  add_row(table, "step, corrected", STEP, without, 0);
}

static void add_notes(table_build *table, const table_work *work) {
  const gains *of = work->gains;
  if (of->is_judged && of->loader_ns >= of->step_ns)
    table_note(table, arena_format(work->arena,
                                   "The loader's workers need %.1f us for a batch, so that the step takes no less.",
                                   1e-3 * of->loader_ns));
  if (!of->is_judged)
    table_note(table, "Nothing is corrected: there are no steps with launches and device records.");
  else if (of->twin_rounds)
    table_note(table, arena_format(work->arena,
                                   "Measured: in %u rounds recorded steps of this window took turns with steps that "
                                   "were not; %.2f us for each record (%.2f to %.2f).",
                                   of->twin_rounds, 1e-3 * of->record_ns, 1e-3 * of->record_low_ns,
                                   1e-3 * of->record_high_ns));
  else if (of->cost_known && of->added_ns <= 0)
    table_note(table, "Measured: the recorded steps took no longer than steps of this run before the profiler was "
                      "attached.");
  else if (of->cost_known)
    table_note(table, arena_format(work->arena,
                                   "Measured: against steps of this run before the profiler was attached; %.2f us for "
                                   "each record. The interval is that of the recorded steps' median.",
                                   1e-3 * of->record_ns));
  else if (of->recorded_ns > of->step_ns)
    table_note(table, "Estimated from the trace: no step without the profiler is known, and no interval.");
  else
    table_note(table, "Nothing is corrected: this window has no steps without the profiler to compare with, and its "
                      "trace does not show what a record costs.");
}

const pd_table *corrected_table(const table_work *work) {
  const gains *of = work->gains;
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "corrected", "Corrected for recording",
              "Mean step of the window with what recording adds taken off; every other table is as recorded.");
  add_notes(&table, work);
  TABLE_COLUMNS(&table, M_corrected_part, M_corrected_time, M_corrected_low, M_corrected_high, M_corrected_share);
  if (of->is_judged && (of->cost_known || of->recorded_ns > of->step_ns)) add_rows(&table, of);
  return table_done(&table);
}
