/* Call stacks. See stacks.h. */
#include "stacks.h"
#include "symbols.h"
#include "unwind.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

enum { OWN_FRAMES = 8 /* how deep below the caller the recorder itself may be */ };

void stacks_prepare(void) { unwind_prepare(); }

void stacks_capture(raw_stack *out, const void *caller) {
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

static pd_status set_open(stack_set *self) {
  *self = (stack_set){.frame_capacity = 1024, .capacity = 64, .mask = 511};
  self->frames = malloc(self->frame_capacity * sizeof *self->frames);
  self->ends = calloc(self->capacity, sizeof *self->ends);
  self->slots = calloc(self->mask + 1, sizeof *self->slots);
  return self->frames && self->ends && self->slots ? PD_OK : PD_NO_MEMORY;
}

static void set_close(stack_set *self) {
  free(self->frames);
  free(self->ends);
  free(self->slots);
}

static uint64_t start_of(const stack_set *self, uint64_t index) { return index ? self->ends[index - 1] : 0; }

static uint64_t hash_frames(const uint32_t *frames, uint64_t count) {
  uint64_t hash = count;
  for (uint64_t i = 0; i < count; i++) {
    hash = (hash ^ frames[i]) * 0x9E3779B97F4A7C15U;
    hash ^= hash >> 29;
  }
  return hash;
}

static uint32_t *slot_of(const stack_set *self, const uint32_t *frames, uint64_t count) {
  for (uint64_t at = hash_frames(frames, count) & self->mask;; at = (at + 1) & self->mask) {
    uint32_t index = self->slots[at];
    if (!index) return &self->slots[at];
    uint64_t start = start_of(self, index - 1);
    if (self->ends[index - 1] - start == count && !memcmp(self->frames + start, frames, count * sizeof *frames))
      return &self->slots[at];
  }
}

static pd_status grow_slots(stack_set *self) {
  if (self->count * 2 <= self->mask) return PD_OK;
  uint64_t mask = self->mask * 2 + 1;
  uint32_t *slots = calloc(mask + 1, sizeof *slots);
  if (!slots) return PD_NO_MEMORY;
  free(self->slots);
  self->slots = slots;
  self->mask = mask;
  for (uint64_t i = 0; i < self->count; i++) {
    uint64_t start = start_of(self, i);
    *slot_of(self, self->frames + start, self->ends[i] - start) = (uint32_t)i + 1;
  }
  return PD_OK;
}

static pd_status set_add(stack_set *self, const uint32_t *frames, uint64_t count, uint32_t *index) {
  const pd_status status = grow_slots(self);
  if (status != PD_OK) return status;
  uint32_t *slot = slot_of(self, frames, count);
  if (!*slot) {
    if (!PD_ARRAY_FIT(self->frames, self->frame_capacity, self->frame_count + count) ||
        !PD_ARRAY_FIT(self->ends, self->capacity, self->count + 1))
      return PD_NO_MEMORY;
    memcpy(self->frames + self->frame_count, frames, count * sizeof *frames);
    self->frame_count += count;
    self->ends[self->count++] = self->frame_count;
    *slot = (uint32_t)self->count;
  }
  *index = *slot - 1;
  return PD_OK;
}

static int compare_addresses(const void *key, const void *row) {
  const uint64_t address = *(const uint64_t *)key, at = ((const frame_name *)row)->address;
  return address < at ? -1 : address > at;
}

/* An address of another process is known by the names that were saved, or not at all. */
static pd_status frame_id(const merging *self, symbols *names, const void *address, uint32_t *id) {
  const window_input *input = self->input;
  if (names) return symbols_intern(names, input->strings, address, id);
  const uint64_t key = (uint64_t)(uintptr_t)address;
  const frame_name *found = NULL;
  if (input->frames) found = bsearch(&key, input->frames, input->frame_count, sizeof *input->frames, compare_addresses);
  *id = found ? found->name : strings_intern(input->strings, "(unknown)");
  return PD_OK;
}

static pd_status resolve_range(const merging *self, symbols *names, stack_set *set, pd_range *range) {
  const window_thread *thread = &self->input->threads[self->threads[range->thread].input];
  const raw_stack *raw = &thread->stacks[range->stack];
  uint32_t frames[RAW_STACK_DEPTH];
  for (uint64_t i = 0; i < raw->count; i++) {
    pd_status status = frame_id(self, names, raw->frames[i], &frames[raw->count - 1 - i]);
    if (status != PD_OK) return status;
  }
  return set_add(set, frames, raw->count, &range->stack);
}

static pd_status write_stacks(merging *self, const stack_set *set) {
  pd_array *array = &self->trace->trace.stacks;
  pd_status status = trace_array(self->trace, array, set->count, sizeof(pd_stack));
  if (status != PD_OK || !set->count) return status;
  pd_stack *rows = (pd_stack *)array->data;
  uint32_t *frames = trace_alloc(self->trace, set->frame_count + 1, sizeof *frames);
  if (!frames) return PD_NO_MEMORY;
  if (set->frame_count) memcpy(frames, set->frames, set->frame_count * sizeof *frames);
  for (uint64_t i = 0; i < set->count; i++)
    rows[i] = (pd_stack){.frames = frames + start_of(set, i), .count = set->ends[i] - start_of(set, i)};
  return PD_OK;
}

pd_status stacks_resolve(merging *self) {
  stack_set set = {0};
  symbols *names = NULL;
  uint64_t count = self->trace->trace.ranges.count, at = 0;
  while (at < count && self->ranges[at].stack == PD_NONE) at++;
  if (at == count) return trace_array(self->trace, &self->trace->trace.stacks, 0, sizeof(pd_stack));
  pd_status status = set_open(&set);
  if (status == PD_OK && !self->input->frames) status = symbols_open(&names);
  for (; status == PD_OK && at < count; at++)
    if (self->ranges[at].stack != PD_NONE) status = resolve_range(self, names, &set, &self->ranges[at]);
  if (status == PD_OK) status = write_stacks(self, &set);
  symbols_close(names);
  set_close(&set);
  return status;
}
