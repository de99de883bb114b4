/*
 * The recorder's table: what plugins and the core call while the program runs, from any thread.
 *
 * The hot path is begin and end of a range: two readings of the clock, one record of 32 bytes, no lock, no
 * allocation, no system call. A thread that comes back in while it is inside (a signal handler, an allocator's hook)
 * is turned away and counted.
 */
#include "recorder_internal.h"
#include "trace/stacks/stacks.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { DEFAULT_BYTES = 512 << 20 };

/* More than any memory holds; sums of them stay within 64 bits. */
#define MOST_BYTES ((int64_t)1 << 48)

static recorder_thread *enter(recorder *self) {
  recorder_thread *thread = thread_current.serial == self->serial ? thread_current.thread : threads_current_slow(self);
  if (!thread || thread->busy) return NULL;
  thread->busy = true;
  atomic_signal_fence(memory_order_seq_cst);
  return thread;
}

static void leave(recorder_thread *self) {
  atomic_signal_fence(memory_order_seq_cst);
  self->busy = false;
}

static void save_shapes(recorder *self, recorder_thread *thread, const pd_range_info *info, raw_info *out) {
  out->shape_first = index_pack(thread->shape_count);
  for (uint32_t i = 0; i < info->shape_count; i++) {
    pd_shape *shape = chunk_list_reserve(&thread->shapes, sizeof *shape);
    if (!shape) {
      out->shape_count = 0;
      recorder_lost(self, PD_LOSS_RANGES_FULL, 1);
      return;
    }
    *shape = info->shapes[i];
    chunk_list_publish(&thread->shapes);
    thread->shape_count++;
  }
  out->shape_count = info->shape_count;
}

/* Index of the saved copy, packed; 0 where the buffers are full: the range itself is still recorded. */
static __attribute__((noinline)) uint32_t save_info(recorder *self, recorder_thread *thread,
                                                    const pd_range_info *info) {
  raw_info saved = {.flops = info->flops,
                    .part = info->part,
                    .sequence = info->sequence,
                    .backward = info->backward,
                    .module = info->module};
  if (self->options.record_shapes && info->shapes && info->shape_count) save_shapes(self, thread, info, &saved);
  raw_info *out = chunk_list_reserve(&thread->infos, sizeof *out);
  if (!out) {
    recorder_lost(self, PD_LOSS_RANGES_FULL, 1);
    return 0;
  }
  *out = saved;
  chunk_list_publish(&thread->infos);
  return index_pack(thread->info_count++);
}

static __attribute__((noinline)) uint32_t save_stack(recorder *self, recorder_thread *thread, const void *caller) {
  raw_stack *out = chunk_list_reserve(&thread->stacks, sizeof *out);
  if (!out) {
    recorder_lost(self, PD_LOSS_RANGES_FULL, 1);
    return 0;
  }
  stacks_capture(out, caller);
  chunk_list_publish(&thread->stacks);
  return index_pack(thread->stack_count++);
}

static void record_begin(const pd_record *record, uint32_t name, pd_range_kind kind, const pd_range_info *info) {
  recorder *self = record->impl;
  recorder_thread *thread = enter(self);
  if (!thread) {
    recorder_lost(self, PD_LOSS_RANGES_FULL, 1);
    return;
  }
  uint32_t depth = thread->depth++;
  if (depth < THREAD_MAX_DEPTH) {
    open_range *open = &thread->open[depth];
    uint64_t info_stack = 0;
    if (info) info_stack = (uint64_t)save_info(self, thread, info) << 32;
    if (self->options.with_stack && kind == PD_RANGE_OP)
      info_stack |= save_stack(self, thread, __builtin_return_address(0));
    atomic_store_explicit(&open->name_kind, (uint64_t)name << 32 | (kind & 0xFFFF), memory_order_release);
    atomic_store_explicit(&open->info_stack, info_stack, memory_order_release);
    atomic_store_explicit(&open->start, recorder_stamp(self, thread), memory_order_release);
  } else {
    recorder_lost(self, PD_LOSS_RANGES_FULL, 1);
  }
  leave(thread);
}

static void record_end(const pd_record *record) {
  recorder *self = record->impl;
  recorder_thread *thread = enter(self);
  if (!thread) return; /* its begin was turned away too, and counted */
  recorder_end_range(self, thread);
  leave(thread);
}

static uint32_t record_intern(const pd_record *record, const char *text) {
  recorder *self = record->impl;
  if (thread_current.interning || atomic_load_explicit(&self->dead, memory_order_relaxed)) {
    uint32_t known = strings_find(self->strings, text);
    return known ? known : STRINGS_NO_MEMORY;
  }
  thread_current.interning = true;
  atomic_signal_fence(memory_order_seq_cst);
  uint32_t id = strings_intern(self->strings, text);
  atomic_signal_fence(memory_order_seq_cst);
  thread_current.interning = false;
  return id;
}

static uint64_t record_ticks(const pd_record *record) {
  const recorder *self = record->impl;
  return trace_clock_ticks(&self->clock);
}

static int64_t record_now_ns(const pd_record *record) {
  const recorder *self = record->impl;
  return trace_clock_now_ns(&self->clock);
}

static bool push_call(recorder_thread *self, pd_clock clock, const pd_activity *activity) {
  raw_call *call = chunk_list_reserve(&self->calls, sizeof *call);
  if (!call) return false;
  *call = (raw_call){.start = activity->start,
                     .end = activity->end,
                     .correlation = activity->correlation,
                     .name = activity->name,
                     .thread = activity->thread,
                     .cbid = activity->u.api.cbid,
                     .result = activity->u.api.result,
                     .kind = (uint8_t)activity->kind,
                     .clock = (uint8_t)clock,
                     .api = (uint16_t)activity->u.api.api};
  chunk_list_publish(&self->calls);
  return true;
}

static bool push_device(recorder_thread *self, pd_clock clock, const pd_activity *activity) {
  raw_device *device = chunk_list_reserve(&self->devices, sizeof *device);
  if (!device) return false;
  device->activity = *activity;
  device->clock = clock;
  device->reserved = 0;
  chunk_list_publish(&self->devices);
  return true;
}

static void record_activities(const pd_record *record, pd_clock clock, const pd_activity *records, uint64_t count) {
  recorder *self = record->impl;
  if (!count || atomic_load_explicit(&self->dead, memory_order_relaxed)) return;
  recorder_thread *thread = enter(self);
  uint64_t stored = 0;
  if (thread) {
    for (uint64_t i = 0; i < count; i++) {
      stored += pd_activity_is_call(&records[i]) ? push_call(thread, clock, &records[i])
                                                 : push_device(thread, clock, &records[i]);
    }
    leave(thread);
  }
  if (stored < count) recorder_lost(self, PD_LOSS_RECORDS_DROPPED, count - stored);
}

static void record_memory(const pd_record *record, const pd_memory_event *event) {
  recorder *self = record->impl;
  if (!pd_record_on(record) || !self->options.profile_memory) return;
  if (event->bytes > MOST_BYTES || event->bytes < -MOST_BYTES) {
    recorder_lost(self, PD_LOSS_IMPLAUSIBLE, 1);
    return;
  }
  recorder_thread *thread = enter(self);
  raw_memory *row = thread ? chunk_list_reserve(&thread->memory, sizeof *row) : NULL;
  if (row) {
    row->ticks = recorder_stamp(self, thread);
    row->event = *event;
    chunk_list_publish(&thread->memory);
  } else {
    recorder_lost(self, PD_LOSS_MEMORY_FULL, 1);
  }
  if (thread) leave(thread);
}

static void record_counter(const pd_record *record, uint32_t name, double value) {
  recorder *self = record->impl;
  if (!pd_record_on(record)) return;
  recorder_thread *thread = enter(self);
  raw_counter *row = thread ? chunk_list_reserve(&thread->counters, sizeof *row) : NULL;
  if (row) {
    *row = (raw_counter){.ticks = recorder_stamp(self, thread), .value = value, .name = name};
    chunk_list_publish(&thread->counters);
  } else {
    recorder_lost(self, PD_LOSS_MEMORY_FULL, 1);
  }
  if (thread) leave(thread);
}

static void record_lost(const pd_record *record, pd_loss loss, uint64_t count) {
  if (loss < PD_LOSS_COUNT) recorder_lost(record->impl, loss, count);
}

/* As ps and top show it, which have 15 bytes: the process is pdhost's already. The first thread's name is the
 * process's. */
static void name_for_the_system(const char *name) {
  static const char known[] = "pdhost ";
  if (!strncmp(name, known, sizeof known - 1)) name += sizeof known - 1;
  if (syscall(SYS_gettid) != getpid()) (void)prctl(PR_SET_NAME, name);
}

static void record_name_thread(const pd_record *record, const char *name) {
  recorder *self = record->impl;
  uint32_t id = record_intern(record, name);
  recorder_thread *thread = thread_current.serial == self->serial ? thread_current.thread : threads_current_slow(self);
  if (thread) atomic_store_explicit(&thread->name, id, memory_order_relaxed);
  name_for_the_system(name);
}

pd_status recorder_open_with_clock(const recorder_options *options, const clock_source *source, recorder **out) {
  void *memory = NULL;
  *out = NULL;
  if (posix_memalign(&memory, 64, sizeof(recorder))) return PD_NO_MEMORY;
  memset(memory, 0, sizeof(recorder));
  recorder *self = memory;
  self->options = *options;
  self->table = (pd_record){.size = sizeof(pd_record),
                            .impl = self,
                            .enabled = &self->enabled,
                            .intern = record_intern,
                            .begin = record_begin,
                            .end = record_end,
                            .ticks = record_ticks,
                            .now_ns = record_now_ns,
                            .activities = record_activities,
                            .memory = record_memory,
                            .counter = record_counter,
                            .lost = record_lost,
                            .name_thread = record_name_thread};
  self->room = options->room;
  self->owns_room = !options->room;
  pd_status status = PD_OK;
  if (!self->room) status = room_open(options->max_bytes ? options->max_bytes : DEFAULT_BYTES, false, &self->room);
  if (status == PD_OK) room_touch(self->room);
  if (status == PD_OK) status = strings_open_in(self->room, &self->strings);
  if (status == PD_OK) status = trace_clock_open(&self->clock, source);
  if (status == PD_OK) status = chunk_pool_open(&self->pool, self->room->place.chunks, self->room->place.chunk_bytes);
  if (status == PD_OK) status = threads_open(self);
  if (status != PD_OK) {
    recorder_close(self);
    return status;
  }
  if (options->with_stack) stacks_prepare();
  *out = self;
  return PD_OK;
}

pd_status recorder_open(const recorder_options *options, recorder **out) {
  return recorder_open_with_clock(options, NULL, out);
}

void recorder_close(recorder *self) {
  if (!self) return;
  threads_close(self);
  chunk_pool_close(&self->pool);
  trace_clock_close(&self->clock);
  strings_close(self->strings);
  free(self->steps);
  free(self->calls);
  free(self->devices);
  free(self->earlier);
  if (self->owns_room) room_close(self->room);
  free(self);
}

double recorder_used(const recorder *self) {
  return (double)atomic_load_explicit(&self->pool.lent, memory_order_relaxed) / (double)self->pool.total;
}

const pd_record *recorder_table(const recorder *self) { return &self->table; }
