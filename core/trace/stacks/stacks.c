/* Call stacks. See stacks.h. */
#include "stacks.h"
#include "symbols.h"
#include "unwind.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

enum { OWN_FRAMES = 8 /* how deep below the caller the recorder itself may be */ };

void stack_prepare(void) { unwind_prepare(); }

void stack_capture(raw_stack *out, const void *caller) {
  void *frames[RAW_STACK_DEPTH + OWN_FRAMES];
  const size_t found = unwind_stack(frames, RAW_STACK_DEPTH + OWN_FRAMES);
  size_t first = 0;
  while (first < found && first < OWN_FRAMES && frames[first] != caller) first++;
  if (first == found || frames[first] != caller) first = 0;
  const size_t count = found - first;
  out->count = count < RAW_STACK_DEPTH ? count : RAW_STACK_DEPTH;
  memcpy(out->frames, frames + first, out->count * sizeof *frames);
}

/* The distinct stacks found so far: frames of all of them one after the other, and a hash table of their indices. */
typedef struct stack_set {
  uint32_t *frames;
  uint64_t frame_count, frame_capacity;
  uint64_t *ends; /* of stack i: where its frames end */
  uint64_t count, capacity;
  uint32_t *slots; /* index plus 1; 0: free */
  uint64_t mask;
} stack_set;

static pd_status set_open(stack_set *set) {
  *set = (stack_set){.frame_capacity = 1024, .capacity = 64, .mask = 511};
  set->frames = malloc(set->frame_capacity * sizeof *set->frames);
  set->ends = calloc(set->capacity, sizeof *set->ends);
  set->slots = calloc(set->mask + 1, sizeof *set->slots);
  return set->frames && set->ends && set->slots ? PD_OK : PD_NO_MEMORY;
}

static void set_close(stack_set *set) {
  free(set->frames);
  free(set->ends);
  free(set->slots);
}

static uint64_t start_of(const stack_set *set, uint64_t index) { return index ? set->ends[index - 1] : 0; }

static uint64_t hash_frames(const uint32_t *frames, uint64_t count) {
  uint64_t hash = count;
  for (uint64_t i = 0; i < count; i++) {
    hash = (hash ^ frames[i]) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return hash;
}

static uint32_t *slot_of(const stack_set *set, const uint32_t *frames, uint64_t count) {
  for (uint64_t at = hash_frames(frames, count) & set->mask;; at = (at + 1) & set->mask) {
    uint32_t index = set->slots[at];
    if (!index) return &set->slots[at];
    uint64_t start = start_of(set, index - 1);
    if (set->ends[index - 1] - start == count && !memcmp(set->frames + start, frames, count * sizeof *frames))
      return &set->slots[at];
  }
}

static pd_status grow_slots(stack_set *set) {
  if (set->count * 2 <= set->mask) return PD_OK;
  uint64_t mask = set->mask * 2 + 1;
  uint32_t *slots = calloc(mask + 1, sizeof *slots);
  if (!slots) return PD_NO_MEMORY;
  free(set->slots);
  set->slots = slots;
  set->mask = mask;
  for (uint64_t i = 0; i < set->count; i++) {
    uint64_t start = start_of(set, i);
    *slot_of(set, set->frames + start, set->ends[i] - start) = (uint32_t)i + 1;
  }
  return PD_OK;
}

static pd_status set_add(stack_set *set, const uint32_t *frames, uint64_t count, uint32_t *index) {
  const pd_status status = grow_slots(set);
  if (status != PD_OK) return status;
  uint32_t *slot = slot_of(set, frames, count);
  if (!*slot) {
    if (!PD_ARRAY_FIT(set->frames, set->frame_capacity, set->frame_count + count) ||
        !PD_ARRAY_FIT(set->ends, set->capacity, set->count + 1))
      return PD_NO_MEMORY;
    memcpy(set->frames + set->frame_count, frames, count * sizeof *frames);
    set->frame_count += count;
    set->ends[set->count++] = set->frame_count;
    *slot = (uint32_t)set->count;
  }
  *index = *slot - 1;
  return PD_OK;
}

static int compare_addresses(const void *key, const void *row) {
  const uint64_t address = *(const uint64_t *)key, at = ((const frame_name *)row)->address;
  return address < at ? -1 : address > at;
}

/* An address of another process is known by the names that were saved, or not at all. */
static pd_status frame_id(const merging *merge, symbols *names, const void *address, uint32_t *id) {
  const window_input *input = merge->input;
  if (names) return symbols_intern(names, input->strings, address, id);
  const uint64_t key = (uint64_t)(uintptr_t)address;
  const frame_name *found = NULL;
  if (input->frames) found = bsearch(&key, input->frames, input->frame_count, sizeof *input->frames, compare_addresses);
  *id = found ? found->name : strings_intern(input->strings, "(unknown)");
  return PD_OK;
}

static pd_status resolve_range(const merging *merge, symbols *names, stack_set *set, pd_range *range) {
  const window_thread *thread = &merge->input->threads[merge->threads[range->thread].input];
  const raw_stack *raw = &thread->stacks[range->stack];
  uint32_t frames[RAW_STACK_DEPTH];
  for (uint64_t i = 0; i < raw->count; i++) {
    pd_status status = frame_id(merge, names, raw->frames[i], &frames[raw->count - 1 - i]);
    if (status != PD_OK) return status;
  }
  return set_add(set, frames, raw->count, &range->stack);
}

static pd_status write_stacks(merging *merge, const stack_set *set) {
  pd_array *array = &merge->trace->trace.stacks;
  pd_status status = trace_array(merge->trace, array, set->count, sizeof(pd_stack));
  if (status != PD_OK || !set->count) return status;
  pd_stack *rows = (pd_stack *)array->data;
  uint32_t *frames = trace_alloc(merge->trace, set->frame_count + 1, sizeof *frames);
  if (!frames) return PD_NO_MEMORY;
  if (set->frame_count) memcpy(frames, set->frames, set->frame_count * sizeof *frames);
  for (uint64_t i = 0; i < set->count; i++)
    rows[i] = (pd_stack){.frames = frames + start_of(set, i), .count = set->ends[i] - start_of(set, i)};
  return PD_OK;
}

pd_status stacks_resolve(merging *merge) {
  stack_set set = {0};
  symbols *names = NULL;
  uint64_t count = merge->trace->trace.ranges.count, at = 0;
  while (at < count && merge->ranges[at].stack == PD_NONE) at++;
  if (at == count) return trace_array(merge->trace, &merge->trace->trace.stacks, 0, sizeof(pd_stack));
  pd_status status = set_open(&set);
  if (status == PD_OK && !merge->input->frames) status = symbols_open(&names);
  for (; status == PD_OK && at < count; at++)
    if (merge->ranges[at].stack != PD_NONE) status = resolve_range(merge, names, &set, &merge->ranges[at]);
  if (status == PD_OK) status = write_stacks(merge, &set);
  symbols_close(names);
  set_close(&set);
  return status;
}
