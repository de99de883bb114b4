/* Merging one window into a pd_trace. See merge.h. */
#include "merge.h"
#include "correlate.h"
#include "nest.h"
#include "sort.h"
#include "trace/stacks/stacks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool in_window(const merging *self, uint64_t ticks) {
  const window_input *input = self->input;
  return ticks >= input->start_ticks && ticks < input->end_ticks && !merge_is_paused(self, ticks, ticks);
}

/* Whether the thread has a row of its own in this window. */
static bool thread_counts(const merging *self, const window_thread *thread) {
  const window_input *input = self->input;
  for (uint64_t i = 0; i < thread->range_count; i++) {
    const raw_range *range = &thread->ranges[i];
    if (range->start < input->end_ticks && (range->start >= input->start_ticks || range->end > input->start_ticks) &&
        !merge_is_paused(self, range->start, range->end))
      return true;
  }
  for (uint64_t i = 0; i < thread->memory_count; i++)
    if (in_window(self, thread->memory[i].ticks)) return true;
  return false;
}

/* The name of a thread that only the profiling library has seen; 0 where it was gone already. */
static uint32_t call_thread_name(const window_input *input, uint32_t tid) {
  for (uint64_t i = 0; i < input->call_thread_count; i++)
    if (input->call_threads[i].tid == tid) return input->call_threads[i].name;
  return 0;
}

static int compare_tids(const void *a, const void *b) {
  uint32_t first = *(const uint32_t *)a, second = *(const uint32_t *)b;
  return first < second ? -1 : first > second;
}

static pd_status add_threads(merging *self, const raw_fate *call_fates) {
  window_input *input = self->input;
  uint64_t count = 0, room = input->thread_count + input->call_count + 1;
  uint32_t last = input->loop_tid;
  pd_status status = PD_NO_MEMORY;
  pd_thread *rows = NULL;
  uint32_t *tids = trace_scratch_alloc(room, sizeof *tids);
  if (!tids) goto out;
  for (uint64_t i = 0; i < input->thread_count; i++)
    if (input->threads[i].tid != input->loop_tid && thread_counts(self, &input->threads[i]))
      tids[count++] = input->threads[i].tid;
  for (uint64_t i = 0; i < input->call_count; i++)
    if (call_fates[i] == FATE_KEPT && input->calls[i].thread != last) {
      last = input->calls[i].thread;
      if (last != input->loop_tid) tids[count++] = last;
    }
  if (count) qsort(tids, count, sizeof *tids, compare_tids);
  uint64_t distinct = 0;
  for (uint64_t i = 0; i < count; i++)
    if (!distinct || tids[distinct - 1] != tids[i]) tids[distinct++] = tids[i];
  self->thread_count = distinct + 1;
  self->threads = trace_scratch_alloc(self->thread_count, sizeof *self->threads);
  if (!self->threads) goto out;
  status = trace_array(self->trace, &self->trace->trace.threads, self->thread_count, sizeof *rows);
  if (status != PD_OK) goto out;
  rows = (pd_thread *)self->trace->trace.threads.data;
  for (uint64_t i = 0; i < self->thread_count; i++) {
    merge_thread *thread = &self->threads[i];
    *thread = (merge_thread){.tid = i ? tids[i - 1] : input->loop_tid, .input = PD_NONE};
    rows[i].tid = thread->tid;
    for (uint64_t low = 0, high = input->thread_count; low < high;) {
      uint64_t middle = low + (high - low) / 2;
      if (input->threads[middle].tid == thread->tid) thread->input = (uint32_t)middle;
      if (input->threads[middle].tid < thread->tid)
        low = middle + 1;
      else
        high = middle;
    }
    rows[i].name = thread->input == PD_NONE ? call_thread_name(input, thread->tid) : input->threads[thread->input].name;
  }
out:
  free(tids);
  return status;
}

static pd_status add_steps(merging *self) {
  const window_input *input = self->input;
  pd_array *array = &self->trace->trace.steps;
  pd_status status = trace_array(self->trace, array, input->step_count, sizeof(pd_trace_step));
  self->steps = (pd_trace_step *)array->data;
  for (uint64_t i = 0; status == PD_OK && i < input->step_count; i++) {
    const recorder_step *step = &input->steps[i];
    self->steps[i] = (pd_trace_step){.start_ns = merge_ticks_ns(self, step->start_ticks),
                                     .end_ns = merge_ticks_ns(self, step->end_ticks),
                                     .train_start_ns = merge_ticks_ns(self, step->train_start_ticks),
                                     .train_end_ns = merge_ticks_ns(self, step->train_end_ticks),
                                     .data_wait_ns = step->data_wait_ns,
                                     .step_time_ns = step->step_time_ns,
                                     .number = step->number,
                                     .loss = input->end->losses ? input->end->losses[i] : (double)NAN};
  }
  return status;
}

static pd_status add_shapes(merging *self, uint64_t *bases) {
  const window_input *input = self->input;
  uint64_t count = 0;
  for (uint64_t i = 0; i < self->thread_count; i++) {
    bases[i] = count;
    if (self->threads[i].input != PD_NONE) count += input->threads[self->threads[i].input].shape_count;
  }
  pd_status status = trace_array(self->trace, &self->trace->trace.shapes, count, sizeof(pd_shape));
  pd_shape *shapes = (pd_shape *)self->trace->trace.shapes.data;
  for (uint64_t i = 0; status == PD_OK && i < self->thread_count; i++) {
    if (self->threads[i].input == PD_NONE) continue;
    const window_thread *thread = &input->threads[self->threads[i].input];
    if (thread->shape_count) memcpy(shapes + bases[i], thread->shapes, thread->shape_count * sizeof *shapes);
  }
  return status;
}

static pd_status add_ranges(merging *self) {
  const window_input *input = self->input;
  uint64_t kept = 0, most = 0;
  pd_status status = PD_NO_MEMORY;
  uint32_t *size = NULL, *place = NULL;
  uint32_t **parents = calloc(self->thread_count, sizeof *parents);
  uint64_t *bases = trace_scratch_alloc(self->thread_count, sizeof *bases);
  if (!parents || !bases) goto out;
  for (uint64_t i = 0; i < self->thread_count; i++) {
    self->threads[i].range_first = kept;
    if (self->threads[i].input == PD_NONE) continue;
    const window_thread *thread = &input->threads[self->threads[i].input];
    if (thread->range_count > WINDOW_MAX_ROWS) goto out;
    parents[i] = trace_scratch_alloc(thread->range_count, sizeof *parents[i]);
    if (!parents[i]) goto out;
    self->threads[i].range_count = nest_parents(self, thread, parents[i]);
    kept += self->threads[i].range_count;
    if (thread->range_count > most) most = thread->range_count;
  }
  size = trace_scratch_alloc(most, sizeof *size);
  place = trace_scratch_alloc(most, sizeof *place);
  if (!size || !place) goto out;
  status = add_shapes(self, bases);
  if (status == PD_OK) status = trace_array(self->trace, &self->trace->trace.ranges, kept, sizeof(pd_range));
  if (status != PD_OK) goto out;
  self->ranges = (pd_range *)self->trace->trace.ranges.data;
  for (uint64_t i = 0; i < self->thread_count; i++) {
    const merge_thread *at = &self->threads[i];
    if (at->input == PD_NONE) continue;
    nest_rows(self, &input->threads[at->input], (uint32_t)i, parents[i], size, place, at->range_first, at->range_count,
              bases[i]);
    free(parents[i]);
    parents[i] = NULL;
  }
out:
  for (uint64_t i = 0; parents && i < self->thread_count; i++) free(parents[i]);
  free(parents);
  free(bases);
  free(size);
  free(place);
  return status;
}

static bool memory_after(const void *rows, uint32_t a, uint32_t b) {
  const pd_memory_row *memory = rows;
  return memory[a].ts_ns > memory[b].ts_ns;
}

static uint32_t clamp_duration(const merging *self, uint64_t ticks, uint64_t duration) {
  uint64_t before = duration < ticks ? ticks - duration : 0;
  int64_t ns = merge_ticks_ns(self, ticks) - merge_ticks_ns(self, before);
  return ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static pd_status add_memory(merging *self) {
  const window_input *input = self->input;
  uint64_t count = 0, at = 0;
  range_sweep *sweep = NULL;
  pd_memory_row *unsorted = NULL;
  uint32_t *order = NULL;
  for (uint64_t i = 0; i < input->thread_count; i++)
    for (uint64_t k = 0; k < input->threads[i].memory_count; k++)
      count += in_window(self, input->threads[i].memory[k].ticks);
  pd_status status = trace_array(self->trace, &self->trace->trace.memory, count, sizeof(pd_memory_row));
  if (status != PD_OK || !count) return status;
  pd_memory_row *rows = (pd_memory_row *)self->trace->trace.memory.data;
  unsorted = trace_scratch_alloc(count, sizeof *unsorted);
  order = trace_scratch_alloc(count, 2 * sizeof *order);
  status = unsorted && order ? merge_sweep_open(self, &sweep) : PD_NO_MEMORY;
  if (status != PD_OK) goto out;
  for (uint64_t i = 0; i < self->thread_count; i++) {
    if (self->threads[i].input == PD_NONE) continue;
    const window_thread *thread = &input->threads[self->threads[i].input];
    for (uint64_t k = 0; k < thread->memory_count; k++) {
      const raw_memory *raw = &thread->memory[k];
      if (!in_window(self, raw->ticks)) continue;
      order[at] = (uint32_t)at;
      unsorted[at++] = (pd_memory_row){.ts_ns = merge_ticks_ns(self, raw->ticks),
                                       .thread = (uint32_t)i,
                                       .duration_ns = clamp_duration(self, raw->ticks, raw->event.duration_ticks),
                                       .event = raw->event};
    }
  }
  sort_runs(order, order + count, count, memory_after, unsorted);
  step_cursor cursor = {self->steps, input->step_count, 0};
  for (uint64_t i = 0; i < count; i++) {
    rows[i] = unsorted[order[i]];
    rows[i].step = merge_step_at(&cursor, rows[i].ts_ns);
    rows[i].range = merge_sweep_at(sweep, rows[i].thread, rows[i].ts_ns);
  }
out:
  merge_sweep_close(sweep);
  free(unsorted);
  free(order);
  return status;
}

static bool counter_after(const void *rows, uint32_t a, uint32_t b) {
  const pd_counter_row *counters = rows;
  return counters[a].ts_ns > counters[b].ts_ns;
}

static pd_status add_counters(merging *self) {
  const window_input *input = self->input;
  uint64_t count = 0, at = 0;
  for (uint64_t i = 0; i < input->thread_count; i++)
    for (uint64_t k = 0; k < input->threads[i].counter_count; k++)
      count += in_window(self, input->threads[i].counters[k].ticks);
  pd_status status = trace_array(self->trace, &self->trace->trace.counters, count, sizeof(pd_counter_row));
  if (status != PD_OK || !count) return status;
  pd_counter_row *rows = (pd_counter_row *)self->trace->trace.counters.data;
  pd_counter_row *unsorted = trace_scratch_alloc(count, sizeof *unsorted);
  uint32_t *order = trace_scratch_alloc(count, 2 * sizeof *order);
  if (unsorted && order) {
    for (uint64_t i = 0; i < input->thread_count; i++)
      for (uint64_t k = 0; k < input->threads[i].counter_count; k++) {
        const raw_counter *raw = &input->threads[i].counters[k];
        if (!in_window(self, raw->ticks)) continue;
        order[at] = (uint32_t)at;
        unsorted[at++] =
            (pd_counter_row){.ts_ns = merge_ticks_ns(self, raw->ticks), .value = raw->value, .name = raw->name};
      }
    sort_runs(order, order + count, count, counter_after, unsorted);
    for (uint64_t i = 0; i < count; i++) rows[i] = unsorted[order[i]];
  } else {
    status = PD_NO_MEMORY;
  }
  free(unsorted);
  free(order);
  return status;
}

/* ---- losses ---- */

static int64_t within(const merging *self, int64_t at_ns) {
  return at_ns < 0 ? 0 : at_ns > self->end_ns ? self->end_ns : at_ns;
}

static bool loss_after(const void *rows, uint32_t a, uint32_t b) {
  const pd_loss_row *first = &((const pd_loss_row *)rows)[a], *second = &((const pd_loss_row *)rows)[b];
  if (first->start_ns != second->start_ns) return first->start_ns > second->start_ns;
  return first->loss != second->loss ? first->loss > second->loss : first->thread > second->thread;
}

/* One row per place, and one per kind for what has no place: it was somewhere in the window. */
static uint32_t fill_loss_rows(const merging *self, pd_loss_row *rows) {
  const loss_marks *given = self->input->marks;
  const uint32_t given_count = given ? given->count : 0;
  uint64_t placed[PD_LOSS_COUNT] = {0};
  uint32_t count = 0;
  for (uint32_t i = 0; i < given_count + self->marks.count; i++) {
    const bool own = i >= given_count;
    const loss_mark *mark = own ? &self->marks.rows[i - given_count] : &given->rows[i];
    rows[count] =
        (pd_loss_row){.start_ns = within(self, own ? mark->first : merge_ticks_ns(self, (uint64_t)mark->first)),
                      .end_ns = within(self, own ? mark->last : merge_ticks_ns(self, (uint64_t)mark->last)),
                      .count = mark->count,
                      .loss = mark->loss,
                      .thread = mark->tid == LOSS_NO_THREAD ? PD_NONE : merge_find_thread(self, mark->tid)};
    placed[mark->loss] += mark->count;
    count++;
  }
  for (pd_loss loss = 0; loss < PD_LOSS_COUNT; loss++) {
    const uint64_t all = self->trace->trace.losses[loss];
    if (all <= placed[loss]) continue;
    rows[count] = (pd_loss_row){.end_ns = self->end_ns, .count = all - placed[loss], .loss = loss, .thread = PD_NONE};
    count++;
  }
  return count;
}

static pd_status add_losses(merging *self) {
  pd_loss_row rows[2 * LOSS_MARKS + PD_LOSS_COUNT];
  uint32_t order[2 * (2 * LOSS_MARKS + PD_LOSS_COUNT)];
  for (int i = 0; i < PD_LOSS_COUNT; i++) self->trace->trace.losses[i] = self->input->losses[i] + self->losses[i];
  const uint32_t count = fill_loss_rows(self, rows);
  pd_array *array = &self->trace->trace.loss_rows;
  const pd_status status = trace_array(self->trace, array, count, sizeof *rows);
  if (status != PD_OK) return status;
  for (uint32_t i = 0; i < count; i++) order[i] = i;
  sort_runs(order, order + count, count, loss_after, rows);
  for (uint32_t i = 0; i < count; i++) ((pd_loss_row *)array->data)[i] = rows[order[i]];
  return PD_OK;
}

/* Allocations are known where they were asked for; calls where the profiling library delivered them. */
static pd_facts facts_known(const window_input *input) {
  pd_facts facts = PD_FACT_OPERATIONS | PD_FACT_STEPS | PD_FACT_INPUT | PD_FACT_PARTS | PD_FACT_TRAIN | PD_FACT_LOSSES;
  if (input->end->profile == PD_PROFILE_FULL) facts |= PD_FACT_CALLS;
  if (input->with_memory) facts |= PD_FACT_MEMORY;
  return facts;
}

pd_status merge_window(window_input *input, raw_fate *call_fates, raw_fate *device_fates, pd_trace **out) {
  merging merge = {.input = input};
  correlation *pairs = NULL;
  pd_status status = PD_NO_MEMORY;
  *out = NULL;
  merge.trace = calloc(1, sizeof *merge.trace);
  if (!merge.trace) return status;
  merge.base_ns = trace_clock_from_ticks(input->clock, input->start_ticks);
  status = merge_find_pauses(&merge);
  merge.end_ns = merge_ticks_ns(&merge, input->end_ticks);
  pd_trace *trace = &merge.trace->trace;
  *trace = (pd_trace){.size = sizeof *trace,
                      .window = input->window,
                      .base_ns = merge.base_ns,
                      .end_ns = merge.end_ns,
                      .pid = input->pid,
                      .profile = input->end->profile,
                      .sync_timing = input->end->sync_timing,
                      .profile_note = input->end->profile_note,
                      .device = input->end->device,
                      .start_allocated_bytes = input->end->start_allocated_bytes,
                      .start_reserved_bytes = input->end->start_reserved_bytes,
                      .unprofiled_step_ns = input->end->unprofiled_step_ns,
                      .twin = input->end->twin,
                      .unrecorded_ns = merge.pause_count ? merge.pauses[merge.pause_count - 1].sum_ns : 0,
                      .copies_ahead = input->end->copies_ahead,
                      .paused_ns = input->end->paused_ns,
                      .graph_input_bytes = input->end->graph_input_bytes,
                      .origin = "pdhost",
                      .facts = facts_known(input)};
  if (status == PD_OK) status = correlation_open(&merge, call_fates, &pairs);
  if (status == PD_OK) status = add_threads(&merge, call_fates);
  if (status == PD_OK) status = add_steps(&merge);
  if (status == PD_OK) status = add_ranges(&merge);
  if (status == PD_OK) status = correlation_run(pairs, call_fates, device_fates);
  if (status == PD_OK) status = add_memory(&merge);
  if (status == PD_OK) status = add_counters(&merge);
  merge.losses[PD_LOSS_CLOCK_STEP] += trace_clock_steps(input->clock);
  if (status == PD_OK) status = add_losses(&merge);
  if (status == PD_OK) status = stacks_resolve(&merge);
  if (status == PD_OK) status = merge_add_strings(merge.trace, input->strings);
  correlation_close(pairs);
  free(merge.threads);
  free(merge.pauses);
  if (status != PD_OK) {
    trace_free(trace);
    return status;
  }
  *out = trace;
  return PD_OK;
}
