/* The analysis as its readers see it: cached sets, whole tables, invariants on random traces, and no memory. The suite
 * is linked with --wrap for the allocation functions. */
#include "facts/facts.h"
#include "facts/processor_use.h"
#include "facts/step_parts.h"
#include "analysis_rig.h"

#include <math.h>
#include <stdlib.h>

PD_TEST(analysis, the_same_request_gives_the_same_set) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_trace_training(rig.fake, 2, 2);
  rig_finish(&rig);
  char sort_by[] = "count";
  rig.request.sort_by = sort_by;
  const pd_table_set *first = rig_tables(&rig);
  cr_assert_eq(first, rig_tables(&rig));
  rig.request.sort_by = "count"; /* other bytes, the same text */
  cr_assert_eq(first, rig_tables(&rig));
  sort_by[0] = 'x'; /* the caller's text need not live on */
  cr_assert_eq(first, rig_tables(&rig));
  rig.request.sort_by = "cpu_time";
  cr_assert_neq(first, rig_tables(&rig));
  rig.request.thread_sep = 1;
  const pd_table_set *apart = rig_tables(&rig);
  cr_assert_neq(first, apart);
  cr_assert_eq(apart, rig_tables(&rig));
  analysis_forget(rig.analysis, rig.trace);
  cr_assert_not_null(rig_tables(&rig));
  rig_end(&rig);
}

PD_TEST(analysis, a_shorter_request_of_an_older_reader_is_read_as_far_as_it_goes) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_trace_training(rig.fake, 2, 1);
  rig_finish(&rig);
  const pd_table_set *whole = rig_tables(&rig);
  rig.request.size = offsetof(pd_table_request, thread_sep);
  rig.request.thread_sep = 99; /* beyond its end */
  cr_assert_eq(whole, rig_tables(&rig));
  rig.request.size = sizeof rig.request;
  const pd_analysis *table = analysis_table(rig.analysis);
  cr_assert_eq(whole, table->tables(table, rig.trace, NULL));
  rig_end(&rig);
}

static void check_cell(const pd_table *table, uint32_t column, const pd_cell *cell) {
  const pd_metric *metric = table->columns[column];
  if (cell->missing) return;
  if (metric->unit == PD_UNIT_TEXT) {
    cr_assert_not_null(cell->v.text, "%s: %s", table->id, metric->key);
  } else if (cell->is_double) {
    cr_assert(isfinite(cell->v.d), "%s: %s is not finite", table->id, metric->key);
    if (metric->unit == PD_UNIT_PERCENT) cr_assert_geq(cell->v.d, 0, "%s: %s", table->id, metric->key);
  } else if (metric->unit == PD_UNIT_NS || metric->unit == PD_UNIT_COUNT) {
    cr_assert_geq(cell->v.i, 0, "%s: %s is %lld", table->id, metric->key, (long long)cell->v.i);
  }
}

static void check_order(const pd_table *table, const pd_table_row *row, const char *min, const char *avg,
                        const char *max) {
  uint32_t found = 0;
  for (uint32_t c = 0; c < table->column_count; c++)
    found += !strcmp(table->columns[c]->key, min) || !strcmp(table->columns[c]->key, avg) ||
             !strcmp(table->columns[c]->key, max);
  if (found != 3 || rig_cell(table, row, avg)->missing) return;
  cr_assert_leq(rig_int(table, row, min), rig_int(table, row, avg));
  cr_assert_leq(rig_int(table, row, avg), rig_int(table, row, max));
}

static void check_tables(const pd_table_set *set) {
  for (uint32_t t = 0; t < set->count; t++) {
    const pd_table *table = set->tables[t];
    for (uint64_t r = 0; r < table->rows.count; r++) {
      const pd_table_row *row = rig_row_at(table, r);
      for (uint32_t c = 0; c < table->column_count; c++) check_cell(table, c, &row->cells[c]);
      check_order(table, row, "cpu_min", "cpu_avg", "cpu_max");
      check_order(table, row, "gpu_min", "gpu_avg", "gpu_max");
    }
  }
}

static double column_sum(const pd_table *table, const char *key, uint32_t level) {
  double sum = 0;
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const pd_table_row *row = rig_row_at(table, i);
    const pd_cell *cell = rig_cell(table, row, key);
    if (row->level == level && !cell->missing) sum += cell->is_double ? cell->v.d : (double)cell->v.i;
  }
  return sum;
}

static void check_sums(const analysis_rig *rig) {
  const pd_table *operators = rig_table(rig, "operators"), *breakdown = rig_table(rig, "breakdown");
  const pd_table *model = rig_table(rig, "model"), *summary = rig_table(rig, "operator_summary");
  int64_t self_ns = rig_int(operators, operators->footer, "self_cpu_time_total");
  cr_assert_eq((int64_t)column_sum(operators, "self_cpu_time_total", 0), self_ns);
  if (self_ns) cr_assert_float_eq(column_sum(operators, "self_cpu_percent", 0), 100, 1e-6);
  if (rig->trace->steps.count) {
    if (rig_int(breakdown, breakdown->footer, "total"))
      cr_assert_float_eq(column_sum(breakdown, "share", 0), 100, 1e-6);
    cr_assert_eq((int64_t)column_sum(breakdown, "total", 0), rig_int(breakdown, breakdown->footer, "total"));
    cr_assert_eq((int64_t)column_sum(model, "cpu_total", 0),
                 2 * rig_int(model, rig_row(model, "ProfileStep"), "cpu_total"));
  }
  if (column_sum(summary, "cpu_total", 0) > 0) cr_assert_float_eq(column_sum(summary, "cpu_ratio", 0), 100, 1e-6);
}

static uint32_t seed = 1;
static uint32_t draw(uint32_t below) {
  seed = seed * 1664525 + 1013904223;
  return (seed >> 8) % below;
}

/* Properly nested ranges of one thread within [start, end), down to `depth`; calls and kernels among them. */
static void draw_ranges(fake_trace *fake, uint32_t thread, int64_t start, int64_t end, int depth, uint64_t *correlation,
                        const uint32_t *streams) {
  static const pd_range_kind kinds[] = {PD_RANGE_OP,       PD_RANGE_OP,     PD_RANGE_USER,
                                        PD_RANGE_OP_INNER, PD_RANGE_MODULE, PD_RANGE_DATALOADER};
  static const char *const names[] = {"a", "b", "c", "nccl:all_reduce"};
  int64_t at = start;
  for (int n = (int)draw(4); n > 0 && at <= end; n--) {
    int64_t from = at + draw((uint32_t)(end - at) + 1), to = from + draw((uint32_t)(end - from) + 1);
    if (draw(3)) {
      fake_range(fake, kinds[draw(6)], names[draw(4)], thread, from, to)->part = (uint8_t)draw(5);
      if (depth) draw_ranges(fake, thread, from, to, depth - 1, correlation, streams);
    } else {
      /* A call may end after what holds it: another clock. */
      fake_call(fake, PD_API_LAUNCH, "launch", thread, from, to + (draw(8) ? 0 : draw(6)), ++*correlation);
      for (uint32_t k = draw(3); k > 0; k--) {
        int64_t begin = from + draw(20);
        if (draw(4))
          fake_kernel(fake, names[draw(4)], streams[draw(2)], begin, begin + draw(20), *correlation);
        else
          fake_copy(fake, PD_MEMORY_PINNED, PD_MEMORY_DEVICE, draw(100), streams[draw(2)], begin, begin + draw(9),
                    *correlation);
      }
    }
    at = to;
  }
}

static void draw_trace(fake_trace *fake) {
  uint32_t streams[2] = {fake_stream(fake, 0, 1, 7), fake_stream(fake, 0, 1, 8)};
  uint32_t second = fake_thread(fake, 9, "second");
  uint64_t correlation = 0;
  int64_t at = 0;
  for (uint64_t s = draw(4); s > 0; s--) {
    int64_t end = at + draw(30);
    fake_step(fake, s, at, end);
    at = end;
  }
  draw_ranges(fake, 0, 0, 60, 3, &correlation, streams);
  draw_ranges(fake, second, 0, 60, 2, &correlation, streams);
}

/* Brute force: on each thread, each nanosecond with a range or call open is somebody's own. */
static int64_t busy_ns(const pd_trace *trace) {
  int64_t busy = 0;
  for (uint32_t t = 0; t < trace->threads.count; t++) {
    uint64_t low = 0, high = 0;
    for (uint64_t i = 0; i < trace->ranges.count; i++) {
      const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
      for (int64_t ns = range->start_ns; range->thread == t && ns < range->end_ns; ns++)
        *(ns < 64 ? &low : &high) |= UINT64_C(1) << (ns & 63);
    }
    for (uint64_t i = 0; i < trace->calls.count; i++) {
      const pd_call *call = PD_AT(pd_call, &trace->calls, i);
      for (int64_t ns = call->start_ns; call->thread == t && ns < call->end_ns; ns++)
        *(ns < 64 ? &low : &high) |= UINT64_C(1) << (ns & 63);
    }
    busy += __builtin_popcountll(low) + __builtin_popcountll(high);
  }
  return busy;
}

/* Brute force of the breakdown: the class of each nanosecond of each step. */
static uint32_t class_at(const pd_trace *trace, int64_t ns) {
  uint32_t best = STEP_OTHER;
#define TAKE(class_, from, to)                                                                                         \
  if ((class_) < best && (from) <= ns && ns < (to)) best = (class_)
  for (uint64_t i = 0; i < trace->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &trace->activities, i);
    TAKE(row->detail.kind == PD_ACTIVITY_KERNEL ? STEP_KERNEL : (uint32_t)STEP_MEMCPY, row->start_ns, row->end_ns);
  }
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    if (range->kind == PD_RANGE_DATALOADER) {
      TAKE(STEP_DATALOADER, range->start_ns, range->end_ns);
      continue;
    }
    TAKE(STEP_CPU_EXEC, range->start_ns, range->end_ns);
    if (!strncmp(pd_trace_string(trace, range->name)->text, "nccl:", 5))
      TAKE(STEP_COMMUNICATION, range->start_ns, range->end_ns);
  }
  for (uint64_t i = 0; i < trace->calls.count; i++) {
    const pd_call *call = PD_AT(pd_call, &trace->calls, i);
    TAKE(STEP_RUNTIME, call->start_ns, call->end_ns);
  }
#undef TAKE
  return best;
}

static void check_facts(const pd_trace *trace) {
  trace_facts *facts = facts_open(trace);
  step_parts parts;
  cr_assert_not_null(facts);
  for (uint64_t i = 0; i < facts->range_count; i++) cr_assert_geq(facts->range_self_ns[i], 0);
  for (uint64_t i = 0; i < facts->call_count; i++) cr_assert_geq(facts->call_self_ns[i], 0);
  cr_assert_eq(facts->self_cpu_ns, busy_ns(trace));
  cr_assert(step_parts_open(facts, &parts));
  for (uint64_t s = 0; s < facts->step_count; s++) {
    const pd_trace_step *step = facts_step(facts, s);
    int64_t want[STEP_PART_COUNT] = {0};
    for (int64_t ns = step->start_ns; ns < step->end_ns; ns++) want[class_at(trace, ns)]++;
    for (uint32_t p = 0; p < STEP_PART_COUNT; p++)
      cr_assert_eq(parts.rows[s * STEP_PART_COUNT + p], want[p], "step %llu, class %u", (unsigned long long)s, p);
  }
  step_parts_free(&parts);
  facts_close(facts);
}

PD_TEST(analysis, a_hundred_thousand_random_traces_equal_a_bitmap) {
  for (int i = 0; i < 100000; i++) {
    analysis_rig rig;
    rig_begin(&rig);
    draw_trace(rig.fake);
    if (i % 10) { /* the tables of every tenth */
      rig.trace = fake_trace_finish(rig.fake);
      cr_assert_not_null(rig.trace);
      check_facts(rig.trace);
      fake_trace_close(rig.fake);
      continue;
    }
    rig_finish(&rig);
    check_facts(rig.trace);
    rig.request.thread_sep = i % 20 != 0;
    check_tables(rig_tables(&rig));
    check_sums(&rig);
    rig_end(&rig);
  }
}

/* --explain of a ratio says that the note tells what it is a ratio of. */
PD_TEST(analysis, notes_name_the_whole_of_every_ratio) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_trace_training(rig.fake, 2, 2);
  rig_finish(&rig);
  const pd_table_set *set = rig_tables(&rig);
  uint32_t with_ratio = 0;
  for (uint32_t i = 0; i < set->count; i++) {
    const pd_table *table = set->tables[i];
    for (uint32_t c = 0; c < table->column_count; c++) {
      const char *key = table->columns[c]->key;
      if (strcmp(key, "cpu_ratio") != 0 && strcmp(key, "gpu_ratio") != 0) continue;
      with_ratio++;
      cr_assert(table->note && strstr(table->note, "atios are of"), "%s: %s", table->id, table->note);
    }
  }
  cr_assert_gt(with_ratio, 8);
  rig_end(&rig);
}

PD_TEST(analysis, an_empty_trace_has_tables_without_rows) {
  analysis_rig rig;
  rig_begin(&rig);
  rig_finish(&rig);
  check_tables(rig_tables(&rig));
  cr_assert_eq(rig_table(&rig, "operators")->rows.count, 0);
  cr_assert_eq(rig_table(&rig, "active_steps")->rows.count, 0);
  rig_end(&rig);
}

PD_TEST(analysis, keys_are_unique_within_a_table_and_ids_within_the_set) {
  analysis_rig rig;
  rig_begin(&rig);
  fake_trace_training(rig.fake, 2, 1);
  rig_finish(&rig);
  rig.request.group_by_input_shape = rig.request.group_by_stack_n = rig.request.thread_sep = 1;
  const pd_table_set *set = rig_tables(&rig);
  for (uint32_t t = 0; t < set->count; t++) {
    for (uint32_t u = 0; u < t; u++) cr_assert_str_neq(set->tables[t]->id, set->tables[u]->id);
    for (uint32_t c = 0; c < set->tables[t]->column_count; c++) {
      cr_assert_str_neq(set->tables[t]->columns[c]->key, "level", "json and csv add a key of that name");
      cr_assert_str_neq(set->tables[t]->columns[c]->key, "row_kind", "csv adds a column of that name");
      for (uint32_t d = 0; d < c; d++)
        cr_assert_str_neq(set->tables[t]->columns[c]->key, set->tables[t]->columns[d]->key);
    }
  }
  rig_end(&rig);
}

PD_TEST(analysis, proc_stat_is_read_as_the_kernel_writes_it) {
  uint64_t busy, idle;
  /* user nice system idle iowait irq softirq steal guest guest_nice; guest is in user already */
  cr_assert_eq(proc_parse("cpu  10 20 30 1000 200 1 2 3 9 9\n", &busy, &idle), PD_OK);
  cr_assert_eq(busy, 66);
  cr_assert_eq(idle, 1200);
  cr_assert_eq(proc_parse("cpu  10 20 30 1000\n", &busy, &idle), PD_OK, "an old kernel");
  cr_assert_eq(idle, 1000);
  cr_assert_eq(proc_parse("cpu0 10 20 30 1000 200\n", &busy, &idle), PD_INVALID);
  cr_assert_eq(proc_parse("cpu  10 20\n", &busy, &idle), PD_INVALID);
  const proc_usage usage = proc_between(&(proc_sample){0, 5, 100, 50}, &(proc_sample){10, 9, 130, 49});
  cr_assert_eq(usage.busy, 30);
  cr_assert_eq(usage.idle, 0, "a count that steps back is not below zero");
  cr_assert_eq(usage.process_ns, 4);
}

/* ---- no memory --------------------------------------------------------------------------------------------- */

static long allocations_left = -1; /* counts down to the one that fails; negative: none does */
static bool fail_once;             /* and none after it */

static bool must_fail(void) {
  if (allocations_left > 0) allocations_left--;
  if (allocations_left != 0) return false;
  if (fail_once) allocations_left = -1;
  return true;
}

/* --wrap=f sends calls of f to one name and gives f itself another; both are the linker's to choose. */
void *real_malloc(size_t bytes) __asm__("__real_malloc");
void *real_calloc(size_t count, size_t bytes) __asm__("__real_calloc");
void *real_realloc(void *memory, size_t bytes) __asm__("__real_realloc");
void *wrap_malloc(size_t bytes) __asm__("__wrap_malloc");
void *wrap_calloc(size_t count, size_t bytes) __asm__("__wrap_calloc");
void *wrap_realloc(void *memory, size_t bytes) __asm__("__wrap_realloc");
void *wrap_malloc(size_t bytes) { return must_fail() ? NULL : real_malloc(bytes); }
void *wrap_calloc(size_t count, size_t bytes) { return must_fail() ? NULL : real_calloc(count, bytes); }
void *wrap_realloc(void *memory, size_t bytes) { return must_fail() ? NULL : real_realloc(memory, bytes); }

static void fail_at_every_point(bool once) {
  analysis_rig rig;
  const pd_table_set *set = NULL;
  long failures = 0;
  rig_begin(&rig);
  fake_trace_training(rig.fake, 2, 2);
  rig_finish(&rig);
  rig.request.group_by_input_shape = rig.request.group_by_stack_n = 1;
  rig.request.sort_by = "count";
  fail_once = once;
  for (; !set; failures++) {
    const pd_analysis *table = analysis_table(rig.analysis);
    analysis_forget(rig.analysis, rig.trace);
    allocations_left = failures + 1;
    set = table->tables(table, rig.trace, &rig.request);
    cr_assert(!set || allocations_left > 0, "allocation %ld failed and nobody said so", failures);
    allocations_left = -1;
    cr_assert_lt(failures, 100000);
  }
  cr_assert_gt(failures, 50, "only %ld points could fail", failures);
  check_tables(set);
  rig_end(&rig);
}

PD_TEST(analysis, no_memory_at_any_point_is_an_answer) {
  fail_at_every_point(false);
  fail_at_every_point(true);
}
