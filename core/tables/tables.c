/* See tables.h. */
#include "tables.h"

#include "facts/series_use.h"

#include <pdhost/processors.h>
#include <pdhost/thread_start.h>

#include <stdatomic.h>
#include <string.h>

typedef const pd_table *table_function(const table_work *work);

enum { MAX_TABLES = 32 };

typedef struct table_choice {
  table_function *make;
  bool wanted;
} table_choice;

typedef struct making {
  table_work work; /* gets what follows */
  step_parts parts;
  stack_tree stacks;
  ledger owners;
  table_choice tables[MAX_TABLES];
  const pd_table *made[MAX_TABLES];
  uint32_t count;
} making;

/* Or the ledger, which is made from them. */
static bool needs_gains(table_function *make) {
  return make == verdict_table || make == gains_table || make == corrected_table || make == ledger_table ||
         make == ledger_steps_table;
}

static void choose(making *self) {
  const table_work *work = &self->work;
  const pd_trace *trace = work->facts->trace;
  const table_choice all[] = {
      {verdict_table, true},
      {operator_table, true},
      {breakdown_table, true},
      {gains_table, trace->profile == PD_PROFILE_FULL},
      {corrected_table, trace->profile == PD_PROFILE_FULL && work->request->corrected},
      {ledger_table, trace->profile == PD_PROFILE_FULL},
      {ledger_steps_table, trace->profile == PD_PROFILE_FULL},
      {idle_reasons_table, (trace->facts & PD_FACT_STATES) != 0},
      {idle_code_table, (trace->facts & PD_FACT_CODE) != 0},
      {children_table, (trace->facts & PD_FACT_CHILDREN) != 0},
      {series_table, series_are_in(trace)},
      {device_figures_table, trace->profile == PD_PROFILE_FULL},
      {steps_table, true},
      {device_summary_table, true},
      {overview_table, true},
      {model_table, true},
      {distributed_table, true},
      {operator_summary_table, true},
      {kernel_table, trace->profile == PD_PROFILE_FULL},
      {kernel_operators_table, trace->profile == PD_PROFILE_FULL},
      {memcpy_table, true},
      {userdefined_table, true},
      {memory_table, work->context->profile_memory},
      {memory_peak_table, work->context->profile_memory},
      {memory_churn_table, work->context->profile_memory},
      {memory_blocks_table, work->context->profile_memory},
      {flops_table, work->context->with_flops},
      {modules_table, work->context->with_modules || modules_are_in(work->facts)},
      {stacks_table, true},
      {stacks_device_table, trace->profile == PD_PROFILE_FULL},
  };
  _Static_assert(sizeof all / sizeof all[0] <= MAX_TABLES, "there is room for all");
  memcpy(self->tables, all, sizeof all);
  self->count = sizeof all / sizeof all[0];
}

/* ---- on two threads ---- */

/* False on no memory. What is for the tables lies in `pool`. [any thread] */
typedef bool job_function(making *of, uint32_t which, arena *pool);

typedef struct job_list {
  making *of;
  job_function *run;
  uint32_t count;
  _Atomic uint32_t next;
  atomic_bool failed;
} job_list;

typedef struct job_helper {
  job_list *jobs;
  arena pool;
  pthread_t thread;
} job_helper;

static void run_jobs(job_list *self, arena *pool) {
  for (uint32_t i; (i = atomic_fetch_add(&self->next, 1)) < self->count;)
    if (!self->failed && !self->run(self->of, i, pool)) self->failed = true;
}

static void *help(void *given) {
  job_helper *self = given;
  run_jobs(self->jobs, &self->pool);
  return NULL;
}

/* The tables of fewer rows take less than 40 ms. With more threads, the gains are what takes longest, and the tables
 * hold more memory at once. */
static bool is_worth_a_thread(const trace_facts *facts) {
  enum { ROWS_LEAST = 100000 };
  return facts->range_count + facts->activity_count >= ROWS_LEAST && pd_processors_allowed() > 1;
}

static bool run_all(making *of, job_function *run, uint32_t count) {
  job_list list = {.of = of, .run = run, .count = count};
  job_helper helper = {.jobs = &list};
  const bool helped = is_worth_a_thread(of->work.facts) && pd_thread_start(&helper.thread, help, &helper) == 0;
  run_jobs(&list, of->work.arena);
  if (helped) (void)pthread_join(helper.thread, NULL);
  arena_join(of->work.arena, &helper.pool);
  return !list.failed;
}

/* ---- in what order ---- */

enum { FIRST_JOBS = 2 };

/* What several tables read. */
static bool prepare(making *self, uint32_t which, arena *pool) {
  (void)pool;
  const trace_facts *facts = self->work.facts;
  return which ? stack_tree_open(facts, &self->stacks) : step_parts_open(facts, &self->parts);
}

/* What is not wanted, was made before, or has to wait for the gains, is nothing to do. */
static bool make_table(making *self, uint32_t which, arena *pool) {
  const table_choice *of = &self->tables[which];
  table_work work = self->work;
  work.arena = pool;
  if (!of->wanted || self->made[which] || (!work.gains && needs_gains(of->make))) return true;
  self->made[which] = of->make(&work);
  return self->made[which] != NULL;
}

static bool wait_for_gains(making *self, ledger_draft *draft) {
  table_work *work = &self->work;
  work->gains = work->promise.wait(work->promise.of);
  work->ledger = &self->owners;
  if (work->gains) return ledger_end(draft, work->gains, &self->owners);
  ledger_drop(draft);
  return false;
}

/* NULL on no memory. */
static const pd_table_set *set_of(const making *self) {
  pd_table_set *set = arena_take(self->work.arena, sizeof *set);
  const pd_table **list = arena_take(self->work.arena, self->count * sizeof *list);
  if (!set || !list) return NULL;
  *set = (pd_table_set){.size = sizeof *set, .tables = list};
  for (uint32_t i = 0; i < self->count; i++)
    if (self->made[i]) list[set->count++] = self->made[i];
  return set;
}

const pd_table_set *tables_make(const table_work *given) {
  making self = {.work = *given};
  self.work.parts = &self.parts;
  self.work.stacks = &self.stacks;
  self.work.gains = NULL;
  self.work.ledger = NULL;
  choose(&self);
  bool ok = run_all(&self, prepare, FIRST_JOBS) && run_all(&self, make_table, self.count);
  ok = wait_for_gains(&self, ok ? ledger_begin(self.work.facts) : NULL) && ok;
  for (uint32_t i = 0; ok && i < self.count; i++) ok = make_table(&self, i, self.work.arena); /* those of the gains */
  ok = ok && !self.work.arena->failed;
  const pd_table_set *set = ok ? set_of(&self) : NULL;
  step_parts_free(&self.parts);
  ledger_free(&self.owners);
  stack_tree_free(&self.stacks);
  return set;
}
