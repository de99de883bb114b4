/* The finished trace: it owns what it holds, names call stacks, and running out of memory anywhere is a status. The
 * suite is linked with --wrap for the allocation functions. */
#include "recorder_rig.h"
#include "trace/stacks/source_lines.h"
#include "trace/stacks/symbols.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Counts down to the allocation that fails; negative: none does. */
static long allocations_left = -1;
static long allocations_made;

static bool must_fail(void) {
  allocations_made++;
  return allocations_left >= 0 && allocations_left-- == 0;
}

/* --wrap=f sends calls of f to one name and gives f itself another; both are the linker's to choose. */
void *real_malloc(size_t bytes) __asm__("__real_malloc");
void *real_calloc(size_t count, size_t bytes) __asm__("__real_calloc");
void *real_realloc(void *memory, size_t bytes) __asm__("__real_realloc");
int real_posix_memalign(void **out, size_t alignment, size_t bytes) __asm__("__real_posix_memalign");
void *real_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) __asm__("__real_mmap");
void *wrap_malloc(size_t bytes) __asm__("__wrap_malloc");
void *wrap_calloc(size_t count, size_t bytes) __asm__("__wrap_calloc");
void *wrap_realloc(void *memory, size_t bytes) __asm__("__wrap_realloc");
int wrap_posix_memalign(void **out, size_t alignment, size_t bytes) __asm__("__wrap_posix_memalign");
void *wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) __asm__("__wrap_mmap");
void *real_dlopen(const char *file, int mode) __asm__("__real_dlopen");
void *wrap_dlopen(const char *file, int mode) __asm__("__wrap_dlopen");

void *wrap_malloc(size_t bytes) { return must_fail() ? NULL : real_malloc(bytes); }
void *wrap_calloc(size_t count, size_t bytes) { return must_fail() ? NULL : real_calloc(count, bytes); }
void *wrap_realloc(void *memory, size_t bytes) { return must_fail() ? NULL : real_realloc(memory, bytes); }
int wrap_posix_memalign(void **out, size_t alignment, size_t bytes) {
  return must_fail() ? ENOMEM : real_posix_memalign(out, alignment, bytes);
}
void *wrap_mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset) {
  return must_fail() ? MAP_FAILED : real_mmap(at, bytes, protection, flags, fd, offset);
}

static bool without_libdw;
void *wrap_dlopen(const char *file, int mode) {
  return without_libdw && file && strstr(file, "libdw") ? NULL : real_dlopen(file, mode);
}

PD_TEST(trace, outlives_the_recorder) {
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 1 << 20, .record_shapes = true});
  rig_window_at(&self, 2000, 0);
  rig_begin_at(&self, 2010, "caf\xC3\xA9 \xFF", PD_RANGE_OP);
  rig_end_at(&self, 2020);
  rig_step_at(&self, 2030, 4);
  rig_give(&self, rig_call(&self, "cudaLaunchKernel", PD_API_LAUNCH, 1, 2012, 2013));
  rig_give(&self, rig_kernel(&self, "k", 1, 2050, 2060));
  pd_trace *trace = rig_finish(&self);
  rig_close(&self);
  cr_assert_eq(trace->size, sizeof(pd_trace));
  cr_assert_str_eq(trace_text(trace, range_at(trace, 0)->name), "caf\xC3\xA9 \xEF\xBF\xBD");
  cr_assert_str_eq(trace_text(trace, 0), "");
  cr_assert_str_eq(trace_text(trace, UINT32_MAX), "", "an id of nobody's");
  for (uint64_t i = 0; i < trace->strings.count; i++) {
    const pd_string *string = PD_AT(pd_string, &trace->strings, i);
    cr_assert_eq(strlen(string->text), string->length);
  }
  cr_assert_str_eq(trace_text(trace, device_at(trace, 0)->name), "k");
  cr_assert_float_eq(pd_trace_coverage(trace), 1.0, 0);
  trace_free(trace);
  trace_free(NULL);
}

static pd_facts facts_of(recorder_options options, pd_profile_mode profile) {
  rig self;
  rig_open(&self, options);
  rig_window_at(&self, 2000, 0);
  rig_step_at(&self, 2030, 1);
  pd_trace *trace = NULL;
  cr_assert_eq(recorder_window_end(self.recorder, &(recorder_window){.profile = profile}, &trace), PD_OK);
  rig_close(&self);
  const pd_facts facts = trace->facts;
  cr_assert_str_eq(trace->origin, "pdhost");
  trace_free(trace);
  return facts;
}

PD_TEST(trace, says_what_its_source_could_know) {
  const recorder_options plain = {.max_bytes = 1 << 20}, memory = {.max_bytes = 1 << 20, .profile_memory = true};
  const pd_facts known = PD_FACT_OPERATIONS | PD_FACT_STEPS | PD_FACT_INPUT | PD_FACT_PARTS | PD_FACT_TRAIN;
  cr_assert_eq(facts_of(plain, PD_PROFILE_FULL), known | PD_FACT_LOSSES | PD_FACT_CALLS);
  cr_assert_eq(facts_of(plain, PD_PROFILE_EVENTS), known | PD_FACT_LOSSES);
  cr_assert_eq(facts_of(memory, PD_PROFILE_FULL), known | PD_FACT_LOSSES | PD_FACT_CALLS | PD_FACT_MEMORY);
}

PD_TEST(trace, an_empty_window_is_a_trace) {
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 1 << 20});
  rig_window_at(&self, 2000, 0);
  rig_at(&self, 2100);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->threads.count, 1, "the loop's");
  cr_assert_eq(trace->ranges.count + trace->calls.count + trace->activities.count + trace->memory.count +
                   trace->counters.count + trace->steps.count + trace->stacks.count + trace->streams.count,
               0);
  cr_assert_eq(trace->ranges.stride, sizeof(pd_range));
  cr_assert_float_eq(pd_trace_coverage(trace), 1.0, 0);
  trace_free(trace);
  rig_close(&self);
}

static pd_site op_site = PD_SITE("op", PD_RANGE_OP);
static pd_site user_site = PD_SITE("user", PD_RANGE_USER);

enum { INNER_LINE = __LINE__ + 2 };
static __attribute__((noinline)) void inner_function(const pd_record *record) {
  pd_range_end(record, pd_range_begin(record, &op_site, NULL));
  __asm__ volatile("" ::: "memory");
}

enum { LOOP_LINE = __LINE__ + 3, ELSE_LINE = __LINE__ + 5 };
static __attribute__((noinline)) void outer_function(const pd_record *record, bool twice) {
  if (twice) {
    for (int i = 0; i < 2; i++) inner_function(record);
  } else {
    inner_function(record);
  }
  pd_range_end(record, pd_range_begin(record, &user_site, NULL));
  __asm__ volatile("" ::: "memory");
}

/* Whether the frame is that of the function, and in the line; without libdw, in this program. */
static bool is_frame(const char *frame, const char *function, int line) {
  char want[96];
  source_lines *lines = source_lines_open();
  if (lines)
    (void)snprintf(want, sizeof want, "%s (test_trace.c:%d)", function, line);
  else
    (void)snprintf(want, sizeof want, "%s (test_trace)", function);
  source_lines_close(lines);
  return !strcmp(frame, want);
}

PD_TEST(trace, operations_carry_their_call_stack) {
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 4 << 20, .with_stack = true});
  rig_window_at(&self, 2000, 0);
  rig_at(&self, 2001);
  outer_function(self.record, true);
  outer_function(self.record, false);
  rig_step_at(&self, 2030, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(trace->ranges.count, 5);
  uint32_t stacks[5], ops = 0;
  for (uint32_t i = 0; i < 5; i++) {
    const pd_range *range = range_at(trace, i);
    if (range->kind == PD_RANGE_OP)
      stacks[ops++] = range->stack;
    else
      cr_assert_eq(range->stack, PD_NONE, "user ranges have none");
  }
  cr_assert_eq(ops, 3);
  cr_assert_eq(stacks[0], stacks[1], "the same stack is stored once");
  cr_assert_geq(trace->stacks.count, 1);
  for (uint32_t i = 0; i < ops; i++) {
    cr_assert_lt(stacks[i], trace->stacks.count);
    const pd_stack *stack = PD_AT(pd_stack, &trace->stacks, stacks[i]);
    cr_assert_geq(stack->count, 3);
    const char *inner = trace_text(trace, stack->frames[stack->count - 1]);
    const char *outer = trace_text(trace, stack->frames[stack->count - 2]);
    cr_assert(is_frame(inner, "inner_function", INNER_LINE), "%s", inner);
    cr_assert(is_frame(outer, "outer_function", i < 2 ? LOOP_LINE : ELSE_LINE), "%s", outer);
  }
  assert_no_losses(trace);
  trace_free(trace);
  rig_close(&self);
}

enum { TURNS = 11 };
static void turn(const pd_record *record, uint32_t path, int depth);
static __attribute__((noinline)) void turn_left(const pd_record *record, uint32_t path, int depth) {
  turn(record, path, depth);
  __asm__ volatile("" ::: "memory");
}
static __attribute__((noinline)) void turn_right(const pd_record *record, uint32_t path, int depth) {
  turn(record, path, depth);
  __asm__ volatile("nop" ::: "memory"); /* or the compiler makes the two functions one */
}
static __attribute__((noinline)) void turn(const pd_record *record, uint32_t path, int depth) {
  if (depth == TURNS)
    pd_range_end(record, pd_range_begin(record, &op_site, NULL));
  else if (path >> depth & 1)
    turn_right(record, path, depth + 1);
  else
    turn_left(record, path, depth + 1);
  __asm__ volatile("" ::: "memory");
}

PD_TEST(trace, every_distinct_stack_is_kept) {
  enum { PATHS = 1 << TURNS };
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 8 << 20, .with_stack = true});
  rig_window_at(&self, 2000, 0);
  for (uint32_t round = 0; round < 2; round++)
    for (uint32_t path = 0; path < PATHS; path++) {
      rig_at(&self, 2001 + round * PATHS + path);
      turn(self.record, path, 0);
    }
  rig_step_at(&self, 20000, 0);
  pd_trace *trace = rig_finish(&self);
  assert_no_losses(trace);
  cr_assert_eq(trace->ranges.count, 2 * PATHS);
  for (uint32_t path = 0; path < PATHS; path++) {
    uint32_t index = range_at(trace, path)->stack;
    const pd_stack *stack = PD_AT(pd_stack, &trace->stacks, index);
    for (uint32_t depth = 0; depth < TURNS; depth++) {
      /* From the innermost: turn, its caller, turn, ... */
      const char *name = trace_text(trace, stack->frames[stack->count - 2 - 2 * (TURNS - 1 - depth)]);
      cr_assert_eq(strncmp(name, path >> depth & 1 ? "turn_right (" : "turn_left (", 11), 0, "%s", name);
    }
  }
  /* The second round is called from the same places: its stacks are the first round's. */
  for (uint32_t path = 0; path < PATHS; path++)
    cr_assert_eq(range_at(trace, PATHS + path)->stack, range_at(trace, path)->stack);
  cr_assert_eq(trace->stacks.count, PATHS);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(trace, without_with_stack_there_is_none) {
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 1 << 20});
  rig_window_at(&self, 2000, 0);
  rig_at(&self, 2001);
  inner_function(self.record);
  rig_step_at(&self, 2030, 0);
  pd_trace *trace = rig_finish(&self);
  cr_assert_eq(range_at(trace, 0)->stack, PD_NONE);
  cr_assert_eq(trace->stacks.count, 0);
  trace_free(trace);
  rig_close(&self);
}

static inline __attribute__((always_inline)) void innermost_inline(const pd_record *record) {
  pd_range_end(record, pd_range_begin(record, &op_site, NULL));
}
static inline __attribute__((always_inline)) void outermost_inline(const pd_record *record) {
  innermost_inline(record);
}
enum { INLINED_LINE = __LINE__ + 2 };
static __attribute__((noinline)) void function_with_inlines(const pd_record *record) {
  outermost_inline(record);
  __asm__ volatile("nop" ::: "memory"); /* or the compiler makes it one with inner_function */
}

/* A frame is that of the function that was called, and its line lies there too, whatever was inlined into it. */
PD_TEST(trace, a_line_is_of_the_function_that_has_the_frame) {
  rig self;
  rig_open(&self, (recorder_options){.max_bytes = 1 << 20, .with_stack = true});
  rig_window_at(&self, 2000, 0);
  rig_at(&self, 2001);
  function_with_inlines(self.record);
  rig_step_at(&self, 2030, 0);
  pd_trace *trace = rig_finish(&self);
  const pd_stack *stack = PD_AT(pd_stack, &trace->stacks, range_at(trace, 0)->stack);
  const char *frame = trace_text(trace, stack->frames[stack->count - 1]);
  cr_assert(is_frame(frame, "function_with_inlines", INLINED_LINE), "%s", frame);
  trace_free(trace);
  rig_close(&self);
}

PD_TEST(trace, without_libdw_a_frame_names_its_module) {
  string_table *strings;
  symbols *names;
  uint32_t id = 0;
  without_libdw = true;
  cr_assert_null(source_lines_open());
  cr_assert_eq(strings_open(&strings), PD_OK);
  cr_assert_eq(symbols_open(&names), PD_OK);
  cr_assert_eq(symbols_intern(names, strings, (const char *)(uintptr_t)inner_function + 1, &id), PD_OK);
  cr_assert_str_eq(strings_get(strings, id).text, "inner_function (test_trace)");
  symbols_close(names);
  strings_close(strings);
}

PD_TEST(trace, addresses_without_a_symbol_are_named_too) {
  string_table *strings;
  symbols *names;
  int local = 0;
  uint32_t id = 0, again = 0;
  cr_assert_eq(strings_open(&strings), PD_OK);
  cr_assert_eq(symbols_open(&names), PD_OK);
  cr_assert_eq(symbols_intern(names, strings, &local, &id), PD_OK);
  cr_assert_eq(strncmp(strings_get(strings, id).text, "0x", 2), 0);
  const void *inside = (const char *)(uintptr_t)inner_function + 1;
  cr_assert_eq(symbols_intern(names, strings, inside, &id), PD_OK);
  cr_assert_eq(strncmp(strings_get(strings, id).text, "inner_function (", 16), 0);
  for (uintptr_t i = 1; i < 3000; i++) cr_assert_eq(symbols_intern(names, strings, (const void *)i, &again), PD_OK);
  cr_assert_eq(symbols_intern(names, strings, inside, &again), PD_OK);
  cr_assert_eq(again, id);
  cr_assert_eq(symbols_intern(names, strings, NULL, &again), PD_OK);
  symbols_close(names);
  strings_close(strings);
}

/* Everything that a window can hold, twice, with whatever allocation fails. Returns whether one of them did. */
static bool run_all(long failing) {
  static const recorder_options options = {
      .max_bytes = 16 * CHUNK_BYTES, .record_shapes = true, .profile_memory = true, .with_stack = true};
  rig self;
  clock_source source = rig_source(&self);
  const pd_shape shape = {1, PD_F32, {3}};
  const pd_range_info info = {.size = sizeof info, .shape_count = 1, .shapes = &shape};
  char text[32];
  atomic_init(&self.now, 1000);
  atomic_init(&self.offset, 0);
  allocations_left = failing;
  pd_status status = recorder_open_with_clock(&options, &source, &self.recorder);
  if (status != PD_OK) {
    bool failed = allocations_left < 0 && failing >= 0;
    allocations_left = -1;
    cr_assert_eq(status, PD_NO_MEMORY);
    cr_assert_null(self.recorder);
    return failed;
  }
  self.record = recorder_table(self.recorder);
  recorder_enable(self.recorder, true);
  for (uint32_t window = 0; window < 2; window++) {
    pd_trace *trace = NULL;
    uint64_t base = 100000000u * (window + 1);
    rig_at(&self, base);
    pd_status begun = recorder_window_begin(self.recorder, window);
    cr_assert(begun == PD_OK || begun == PD_NO_MEMORY);
    for (uint32_t i = 0; i < 300; i++) {
      (void)snprintf(text, sizeof text, "name %u", i);
      uint32_t name = self.record->intern(self.record, text);
      cr_assert_neq(name, 0);
      rig_at(&self, base + 100 * i + 10);
      self.record->begin(self.record, name, PD_RANGE_OP, &info);
      self.record->memory(self.record, &(pd_memory_event){.bytes = 1});
      self.record->counter(self.record, name, 1);
      rig_give(&self, (pd_activity){.kind = PD_ACTIVITY_RUNTIME,
                                    .start = (int64_t)(base + 100 * i + 11),
                                    .end = (int64_t)(base + 100 * i + 12),
                                    .correlation = 1000 * window + i + 1,
                                    .thread = 7,
                                    .u.api = {.api = PD_API_LAUNCH}});
      rig_give(&self, (pd_activity){.kind = PD_ACTIVITY_KERNEL,
                                    .start = (int64_t)(base + 100 * i + 12),
                                    .end = (int64_t)(base + 100 * i + 52),
                                    .correlation = 1000 * window + i + 1,
                                    .stream = i % 40});
      rig_end_at(&self, base + 100 * i + 50);
      if (i == 150) atomic_fetch_add(&self.offset, 1000000); /* one step of the clock, for its zones */
      if (i % 3 == 2) {
        const recorder_step step = {.start_ticks = base + 100 * (i - 2), .end_ticks = base + 100 * (i + 1)};
        status = recorder_step_done(self.recorder, &step);
        cr_assert(status == PD_OK || status == PD_NO_MEMORY || (status == PD_INVALID && begun));
      }
    }
    status = recorder_window_end(self.recorder, &(recorder_window){0}, &trace);
    cr_assert(status == PD_OK || status == PD_NO_MEMORY || (status == PD_INVALID && begun));
    cr_assert_eq(trace != NULL, status == PD_OK);
    if (window && (failing < 0 || allocations_left < 0) && status == PD_OK && !begun)
      cr_assert_geq(trace->ranges.count + trace->losses[PD_LOSS_RANGES_FULL], 1);
    if (trace) rig_check_losses(trace);
    trace_free(trace);
  }
  bool failed = failing >= 0 && allocations_left < 0;
  allocations_left = -1;
  rig_close(&self);
  return failed;
}

PD_TEST_WITH(trace, every_allocation_may_fail, .timeout = 110) {
  without_libdw = true; /* its allocations are its own, and reading debug information a thousand times takes minutes */
  allocations_made = 0;
  run_all(-1);
  long made = allocations_made;
  cr_assert_gt(made, 100);
  for (long i = 0; i < made; i++) cr_assert(run_all(i), "allocation %ld of %ld was never reached", i, made);
}
