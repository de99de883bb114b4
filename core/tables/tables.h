/* The builders of all tables, one per table, and the set they make. Two builders of a trace run at once, each with
 * an arena of its own. [tables_make: one thread at a time for a trace] */
#ifndef CORE_TABLES_TABLES_H
#define CORE_TABLES_TABLES_H

#include "table_build.h"
#include "window_tables.h"
#include "facts/facts.h"
#include "facts/processor_use.h"
#include "facts/stack_tree.h"
#include "facts/step_parts.h"
#include "ledger/gains.h"
#include "ledger/ledger.h"

/* What takes longest may be under way on another thread: tables that need no gains are made meanwhile. */
typedef struct gains_promise {
  const gains *(*wait)(void *of); /* NULL on no memory */
  void *of;
} gains_promise;

typedef struct table_work {
  const trace_facts *facts;
  const analysis_context *context;
  const pd_table_request *request;
  const proc_usage *usage; /* of the window, or NULL: not measured */
  const step_parts *parts; /* how the steps divide; made by tables_make */
  const ledger *ledger;    /* made by it too */
  gains_promise promise;
  const gains *gains;       /* what tables_make got of it */
  const stack_tree *stacks; /* made by it too */
  arena *arena;
  bool is_cuda;
} table_work;

/* Each returns NULL on no memory. */
const pd_table *verdict_table(const table_work *work);
const pd_table *gains_table(const table_work *work);
/* For a request that wants it. */
const pd_table *corrected_table(const table_work *work);
/* What the recorder saw of the host. */
const pd_table *idle_reasons_table(const table_work *work);
const pd_table *series_table(const table_work *work);
const pd_table *idle_code_table(const table_work *work);
const pd_table *children_table(const table_work *work);
const pd_table *ledger_table(const table_work *work);
const pd_table *ledger_steps_table(const table_work *work);
const pd_table *operator_table(const table_work *work);
const pd_table *steps_table(const table_work *work);
const pd_table *breakdown_table(const table_work *work);
const pd_table *device_figures_table(const table_work *work);
const pd_table *device_summary_table(const table_work *work);
const pd_table *overview_table(const table_work *work);
const pd_table *model_table(const table_work *work);
const pd_table *distributed_table(const table_work *work);
const pd_table *operator_summary_table(const table_work *work);
const pd_table *kernel_table(const table_work *work);
const pd_table *kernel_operators_table(const table_work *work);
const pd_table *memcpy_table(const table_work *work);
const pd_table *userdefined_table(const table_work *work);
const pd_table *memory_table(const table_work *work);
const pd_table *memory_peak_table(const table_work *work);
const pd_table *memory_churn_table(const table_work *work);
const pd_table *memory_blocks_table(const table_work *work);
const pd_table *flops_table(const table_work *work);
/* Whether a range names a module. */
bool modules_are_in(const trace_facts *facts);
const pd_table *modules_table(const table_work *work);
const pd_table *stacks_table(const table_work *work);
const pd_table *stacks_device_table(const table_work *work);

/* Without device records, what the classes of step_parts.h then mean. */
void step_parts_note(table_build *table, const trace_facts *facts);

/* All of them that apply, in a reader's order. What `given` points to is borrowed for the call, its `parts`,
 * `ledger`, `gains` and `stacks` are ignored; the set lives in `arena`. */
const pd_table_set *tables_make(const table_work *given);

#endif
