/*
 * See window_tables.h. A set is kept per trace and request, so that every sink reads the same tables and they are
 * computed once; analysis_forget drops them with the trace.
 */
#include "window_tables.h"
#include "run_tables.h"
#include "tables.h"
#include "base/stats.h"
#include "trace/trace_memory.h"

#include <pdhost/thread_start.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct kept_set {
  struct kept_set *next;
  const pd_table_set *set;
  arena arena;
  pd_table_request request; /* its strings are in the arena */
} kept_set;

typedef struct kept_trace {
  struct kept_trace *next;
  const pd_trace *trace;
  trace_facts *facts;
  gains gains;
  pthread_t search; /* for the gains */
  bool is_searching, has_gains;
  kept_set *sets;
} kept_trace;

/* The tables of the whole run, and the steps they were made from. */
typedef struct kept_run {
  struct kept_run *next;
  const pd_table_set *set;
  arena arena;
  const void *steps;
  uint64_t step_count;
} kept_run;

struct analysis {
  pd_analysis table;
  analysis_context context;
  char disturbance[512];
  const pd_table_set *more; /* of the run; or NULL */
  kept_trace *traces;
  const pd_trace *prepared; /* that `thread` is at; NULL: none */
  pthread_t thread;
  kept_run *runs;
  proc_sample begin, paused;
  proc_usage usage;
  bool has_begin, has_usage, is_paused;
};

static bool same_request(const pd_table_request *a, const pd_table_request *b) {
  return a->group_by_input_shape == b->group_by_input_shape && a->group_by_stack_n == b->group_by_stack_n &&
         a->top_level_events_only == b->top_level_events_only && a->thread_sep == b->thread_sep &&
         a->hide_op_detail == b->hide_op_detail && a->corrected == b->corrected && !strcmp(a->sort_by, b->sort_by) &&
         !strcmp(a->sorted_by, b->sorted_by);
}

/* From facts of its own: those of the trace are filled meanwhile. NULL on no memory. */
static void *find_gains(void *given) {
  kept_trace *kept = given;
  trace_facts *facts = facts_open_bare(kept->trace);
  const bool found = facts && gains_find(facts, &kept->gains);
  facts_close(facts);
  return found ? kept : NULL;
}

/* NULL: there was no memory for them. */
static const gains *wait_for_gains(void *given) {
  kept_trace *kept = given;
  void *found = NULL;
  if (kept->is_searching) {
    (void)pthread_join(kept->search, &found);
    kept->has_gains = found != NULL;
    kept->is_searching = false;
  }
  return kept->has_gains ? &kept->gains : NULL;
}

static void drop_trace(kept_trace *kept) {
  (void)wait_for_gains(kept);
  while (kept->sets) {
    kept_set *next = kept->sets->next;
    arena_free(&kept->sets->arena);
    free(kept->sets);
    kept->sets = next;
  }
  gains_free(&kept->gains);
  facts_close(kept->facts);
  free(kept);
}

/* What a request leaves out is as its header says, so that the same tables have one request. NULL: all left out. */
static pd_table_request request_whole(const pd_table_request *given) {
  pd_table_request whole = {.size = sizeof whole};
  if (given) memcpy(&whole, given, given->size < sizeof whole ? given->size : sizeof whole);
  if (!whole.sort_by) whole.sort_by = "self_cuda_time_total";
  if (!whole.sorted_by) whole.sorted_by = "CPUTotal";
  return whole;
}

/* `beside`: the gains may still be looked for when it returns. NULL on no memory. [any thread] */
static kept_trace *look_at(const pd_trace *trace, bool beside) {
  kept_trace *kept = calloc(1, sizeof *kept);
  if (!kept) return NULL;
  kept->trace = trace;
  kept->is_searching = beside && pd_thread_start(&kept->search, find_gains, kept) == 0;
  /* Else first the gains, which hold most and need no columns: then what they held is free again. */
  if (!kept->is_searching) kept->has_gains = find_gains(kept) != NULL;
  kept->facts = facts_open_bare(trace);
  if (kept->facts && (kept->is_searching || kept->has_gains) && facts_fill(kept->facts)) return kept;
  drop_trace(kept);
  return NULL;
}

/* NULL on no memory. [any thread] */
static const pd_table_set *make_set(const analysis *self, kept_trace *trace, const pd_table_request *request) {
  kept_set *kept = calloc(1, sizeof *kept);
  table_work work;
  if (!kept) return NULL;
  kept->request = *request;
  kept->request.sort_by = arena_text(&kept->arena, request->sort_by, strlen(request->sort_by));
  kept->request.sorted_by = arena_text(&kept->arena, request->sorted_by, strlen(request->sorted_by));
  work = (table_work){.facts = trace->facts,
                      .promise = {.wait = wait_for_gains, .of = trace},
                      .context = &self->context,
                      .request = &kept->request,
                      .usage = self->has_usage ? &self->usage : NULL,
                      .arena = &kept->arena,
                      .is_cuda = self->context.device && self->context.device->is_cuda};
  kept->set = kept->arena.failed ? NULL : tables_make(&work);
  if (!kept->set) {
    arena_free(&kept->arena);
    free(kept);
    return NULL;
  }
  kept->next = trace->sets;
  trace->sets = kept;
  return kept->set;
}

/* Without memory for the tables, they are made when they are asked for. */
static void *look_ahead(void *given) {
  const analysis *self = given;
  const pd_table_request request = request_whole(NULL);
  kept_trace *kept = look_at(self->prepared, true);
  if (kept) (void)make_set(self, kept, &request);
  return kept;
}

/* Without a thread the tables are made when they are asked for. */
static void prepare(const pd_analysis *table, const pd_trace *trace) {
  analysis *self = table->impl;
  if (self->prepared) return;
  for (const kept_trace *kept = self->traces; kept; kept = kept->next)
    if (kept->trace == trace) return;
  trace_reuse_begin();
  self->prepared = trace;
  if (pd_thread_start(&self->thread, look_ahead, self) == 0) return;
  self->prepared = NULL;
  trace_reuse_end();
}

/* What the thread made. NULL on no memory. */
static kept_trace *finish(analysis *self) {
  const pd_trace *trace = self->prepared;
  void *made = NULL;
  (void)pthread_join(self->thread, &made);
  self->prepared = NULL;
  if (made && !wait_for_gains(made)) { /* both at once want more memory than one after the other */
    drop_trace(made);
    made = look_at(trace, false);
  }
  trace_reuse_end();
  return made;
}

static kept_trace *keep_trace(analysis *self, const pd_trace *trace) {
  for (kept_trace *kept = self->traces; kept; kept = kept->next)
    if (kept->trace == trace) return kept;
  kept_trace *kept = self->prepared == trace ? finish(self) : look_at(trace, false);
  if (!kept) return NULL;
  kept->next = self->traces;
  self->traces = kept;
  return kept;
}

static const pd_table_set *find_or_make(analysis *self, const pd_trace *trace, const pd_table_request *request) {
  const pd_table_request whole = request_whole(request);
  kept_trace *kept = keep_trace(self, trace);
  if (!kept) return NULL;
  for (const kept_set *set = kept->sets; set; set = set->next)
    if (same_request(&set->request, &whole)) return set->set;
  return make_set(self, kept, &whole);
}

static const pd_table_set *tables_of(const pd_analysis *table, const pd_trace *trace, const pd_table_request *request) {
  trace_reuse_begin();
  const pd_table_set *set = find_or_make(table->impl, trace, request);
  trace_reuse_end();
  return set;
}

/* `first`, and after it what the run itself made. NULL on no memory. */
static const pd_table_set *join(const analysis *self, arena *pool, const pd_table_set *first) {
  if (!first || !self->more) return first;
  const uint32_t count = first->count + self->more->count;
  const pd_table **list = arena_take(pool, count * sizeof *list);
  pd_table_set *set = arena_take(pool, sizeof *set);
  if (!list || !set) return NULL;
  for (uint32_t i = 0; i < count; i++)
    list[i] = i < first->count ? first->tables[i] : self->more->tables[i - first->count];
  *set = (pd_table_set){.size = sizeof *set, .count = count, .tables = list};
  return set;
}

void analysis_add_run_tables(analysis *self, const pd_table_set *more) { self->more = more; }

static const pd_table_set *run_tables_of(const pd_analysis *table, const pd_run *run, const pd_summary *summary) {
  analysis *self = table->impl;
  kept_run *kept;
  for (kept = self->runs; kept; kept = kept->next)
    if (kept->steps == summary->steps_all.data && kept->step_count == summary->steps_all.count) return kept->set;
  kept = calloc(1, sizeof *kept);
  if (!kept) return NULL;
  kept->steps = summary->steps_all.data;
  kept->step_count = summary->steps_all.count;
  kept->set = join(self, &kept->arena, run_tables_make(&kept->arena, run, summary));
  if (!kept->set) {
    arena_free(&kept->arena);
    free(kept);
    return NULL;
  }
  kept->next = self->runs;
  self->runs = kept;
  return kept->set;
}

static uint32_t digits_of(const pd_analysis *table, double *values, uint64_t count) {
  (void)table;
  return stats_digits(values, count);
}

static const pd_metric *const *metrics_of(const pd_analysis *table, uint64_t *count) {
  (void)table;
  return registry_all(count);
}

pd_status analysis_open(const analysis_context *context, analysis **out) {
  analysis *self = calloc(1, sizeof *self);
  *out = self;
  if (!self) return PD_NO_MEMORY;
  self->context = *context;
  self->table = (pd_analysis){.size = sizeof(pd_analysis),
                              .impl = self,
                              .tables = tables_of,
                              .metrics = metrics_of,
                              .run_tables = run_tables_of,
                              .digits = digits_of,
                              .prepare = prepare};
  return PD_OK;
}

const char *analysis_cuda_heading(const char *key) {
  const pd_metric *metric = registry_on_cuda(key);
  return metric ? metric->heading : NULL;
}

void analysis_close(analysis *self) {
  if (!self) return;
  if (self->prepared) (void)keep_trace(self, self->prepared);
  while (self->traces) {
    kept_trace *next = self->traces->next;
    drop_trace(self->traces);
    self->traces = next;
  }
  while (self->runs) {
    kept_run *next = self->runs->next;
    arena_free(&self->runs->arena);
    free(self->runs);
    self->runs = next;
  }
  free(self);
}

const pd_analysis *analysis_table(const analysis *self) { return &self->table; }

void analysis_forget(analysis *self, const pd_trace *trace) {
  if (self->prepared == trace) (void)keep_trace(self, trace);
  for (kept_trace **at = &self->traces; *at; at = &(*at)->next) {
    kept_trace *kept = *at;
    if (kept->trace != trace) continue;
    *at = kept->next;
    drop_trace(kept);
    return;
  }
}

void analysis_window_begin(analysis *self) {
  self->has_usage = self->is_paused = false;
  self->has_begin = proc_take(&self->begin) == PD_OK;
}

void analysis_window_pause(analysis *self) {
  self->is_paused = proc_take(&self->paused) == PD_OK;
  if (!self->is_paused) self->has_begin = false;
}

void analysis_window_resume(analysis *self) {
  proc_sample now;
  if (!self->is_paused) return;
  self->is_paused = false;
  if (proc_take(&now) == PD_OK)
    proc_skip(&self->begin, &self->paused, &now);
  else
    self->has_begin = false;
}

void analysis_window_end(analysis *self) {
  proc_sample end = self->paused;
  self->has_usage = self->has_begin && (self->is_paused || proc_take(&end) == PD_OK);
  if (self->has_usage) self->usage = proc_between(&self->begin, &end);
}

void analysis_disturbed(analysis *self, const char *machine, const char *process) {
  snprintf(self->disturbance, sizeof self->disturbance, "%s%s%s", machine ? machine : "",
           machine && process ? "; " : "", process ? process : "");
  self->context.disturbance = self->disturbance[0] ? self->disturbance : NULL;
}

void analysis_follow(analysis *self, const analysis_follow_up *next) { self->context.follow_up = next; }

const char *analysis_disturbance(const analysis *self) { return self->context.disturbance; }

const proc_usage *analysis_usage(const analysis *self) { return self->has_usage ? &self->usage : NULL; }

void analysis_set_usage(analysis *self, const proc_usage *usage) {
  self->has_usage = usage != NULL;
  if (usage) self->usage = *usage;
}
