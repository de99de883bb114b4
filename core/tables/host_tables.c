/* What the host did beside CUDA, where the recorder saw it: launching threads while the device was idle, the program's
 * own code meanwhile, and its children. */
#include "tables.h"

#include "facts/child_use.h"
#include "facts/thread_states.h"

#include <string.h>

static const char *const states[THREAD_STATES] = {"unknown", "runs",  "delayed", "read", "poll",
                                                  "futex",   "sleep", "fault",   "call", "blocked"};

static void idle_row(table_build *table, const table_work *work, const char *words, const char *state, int64_t ns) {
  table_row(table, 0);
  table_string(table, M_idle_reason, words);
  table_string(table, M_idle_state, state);
  table_int(table, M_idle_time, ns);
  if (work->facts->step_count) table_int(table, M_idle_per_step, ns / (int64_t)work->facts->step_count);
  table_percent(table, M_idle_share, ns, work->facts->steps_ns);
}

const pd_table *idle_reasons_table(const table_work *work) {
  idle_reasons reasons;
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "idle_reasons", "What held up launching",
              "While the device was idle: of each moment, what the thread did that launches next.");
  TABLE_COLUMNS(&table, M_idle_reason, M_idle_state, M_idle_time, M_idle_per_step, M_idle_share);
  const bool ok = idle_reasons_open(work->facts, &reasons);
  for (uint32_t i = 0; i < reasons.count; i++) {
    char words[96];
    idle_reason_words(work->facts, &reasons.rows[i], words, sizeof words);
    idle_row(&table, work, arena_text(work->arena, words, strlen(words)), states[reasons.rows[i].state],
             reasons.rows[i].idle_ns);
  }
  if (ok && reasons.idle_ns > reasons.known_ns)
    idle_row(&table, work, "not seen", states[0], reasons.idle_ns - reasons.known_ns);
  idle_reasons_free(&reasons);
  return ok ? table_done(&table) : NULL;
}

const pd_table *idle_code_table(const table_work *work) {
  idle_reasons reasons;
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "idle_code", "Code while the device was idle",
              "Lines of the program's own Python code, not of its libraries.");
  TABLE_COLUMNS(&table, M_code_place, M_code_samples, M_code_share);
  const bool ok = idle_reasons_open(work->facts, &reasons);
  for (uint32_t i = 0; i < reasons.place_count; i++) {
    table_row(&table, 0);
    table_string(&table, M_code_place, facts_text(work->facts, reasons.places[i].place));
    table_int(&table, M_code_samples, (int64_t)reasons.places[i].samples);
    table_percent(&table, M_code_share, (int64_t)reasons.places[i].samples, (int64_t)reasons.samples);
  }
  idle_reasons_free(&reasons);
  return ok ? table_done(&table) : NULL;
}

const pd_table *children_table(const table_work *work) {
  child_uses children;
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "children", "Children",
              "Processes that the program has started, such as loader workers.");
  TABLE_COLUMNS(&table, M_child, M_child_processors, M_child_disk, M_child_read);
  const bool ok = child_uses_open(work->facts, &children);
  for (uint32_t i = 0; i < children.count; i++) {
    const child_use *child = &children.rows[i];
    table_row(&table, 0);
    table_string(&table, M_child,
                 arena_format(work->arena, "%s (%u)", facts_text(work->facts, child->name), child->pid));
    table_double(&table, M_child_processors, 100 * child->processors);
    table_double(&table, M_child_disk, 1e-9 * child->disk_per_s);
    table_double(&table, M_child_read, 1e-9 * child->read_per_s);
  }
  child_uses_free(&children);
  return ok ? table_done(&table) : NULL;
}
