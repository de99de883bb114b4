/* See places.h. */
#include "places.h"

#include "facts/groups.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* The loop's function that calls the scenario, in recordings of our own. */
#define CALLS_SCENARIO "measured_step_run"

typedef struct tally {
  double ns;
  uint64_t calls;
} tally;

typedef struct tallies {
  key_groups keys;
  tally *rows; /* by the keys' index */
  uint64_t room;
} tallies;

static bool is_operation(const pd_range *range) {
  return range->kind == PD_RANGE_OP || range->kind == PD_RANGE_OP_INNER;
}

/* Readers hand on no function of a library: "train.py(57): step" is the program's own. */
static bool is_python(const char *frame) { return strstr(frame, ".py(") != NULL; }

/* The file of a frame of C code: of "read_loss (sync.c:34)" "sync.c". NULL: it is not known. */
static const char *file_of(const char *frame, size_t *length) {
  const char *open = strrchr(frame, '(');
  if (!open || !strchr(open, ':')) return NULL;
  *length = (size_t)(strchr(open, ':') - open - 1);
  return open + 1;
}

static bool same_file(const char *frame, const char *file, size_t length) {
  size_t own;
  const char *at = file_of(frame, &own);
  return at && own == length && !strncmp(at, file, length);
}

/* The innermost line of the scenario's own file; 0: there is none. Frames go from the outermost to the innermost. */
static uint32_t scenario_frame(const trace_facts *facts, const pd_stack *stack) {
  const char *file = NULL;
  size_t length = 0;
  uint32_t found = 0;
  for (uint64_t f = 0; f < stack->count; f++) {
    const char *text = facts_text(facts, stack->frames[f]);
    if (!file && f && !strncmp(facts_text(facts, stack->frames[f - 1]), CALLS_SCENARIO, strlen(CALLS_SCENARIO)))
      file = file_of(text, &length);
    if (file && same_file(text, file, length)) found = stack->frames[f];
  }
  return found;
}

static uint32_t own_frame(const trace_facts *facts, const pd_stack *stack) {
  for (uint64_t f = stack->count; f-- > 0;)
    if (is_python(facts_text(facts, stack->frames[f]))) return stack->frames[f];
  return scenario_frame(facts, stack);
}

/* The place of a call, by the ranges that hold it. */
static place place_of(const trace_facts *facts, uint32_t range) {
  place out = {0};
  for (; range != PD_NONE; range = facts_range(facts, range)->parent) {
    const pd_range *at = facts_range(facts, range);
    if (is_operation(at)) {
      out.operation = at->name; /* the outermost */
      if (!out.module) out.module = at->module;
      if (!out.frame && at->stack < facts->trace->stacks.count)
        out.frame = own_frame(facts, PD_AT(pd_stack, &facts->trace->stacks, at->stack));
    } else if (at->kind == PD_RANGE_MODULE) {
      if (!out.module) out.module = at->name;
    }
  }
  return out;
}

static bool add(tallies *self, const place *at, double ns) {
  const uint32_t index = groups_index(&self->keys, (uint64_t)at->operation << 32 | at->module, at->frame);
  const uint64_t before = self->room;
  if (index == UINT32_MAX || !PD_ARRAY_FIT(self->rows, self->room, index + 1)) return false;
  if (self->room > before) memset(self->rows + before, 0, (self->room - before) * sizeof *self->rows);
  self->rows[index].ns += ns;
  self->rows[index].calls++;
  return true;
}

bool places_find(const timeline *of, replay_owners owner, bool by_time, place *out) {
  tallies self = {.rows = NULL};
  uint64_t all = 0;
  double all_ns = 0; /* or calls */
  bool ok = true;
  *out = (place){0};
  for (uint32_t c = 0; c < of->call_count && ok; c++) {
    const timeline_call *call = &of->calls[c];
    if (call->owner != owner || (!by_time && !call->record_count)) continue;
    const place at = place_of(of->facts, timeline_source(of, call)->range);
    const double ns = by_time ? (double)(call->end_ns - call->start_ns) : 1;
    all++;
    all_ns += ns;
    if (at.operation) ok = add(&self, &at, ns);
  }
  uint32_t best = 0;
  for (uint32_t i = 1; i < self.keys.count; i++)
    if (self.rows[i].ns > self.rows[best].ns) best = i;
  if (ok && self.keys.count)
    *out = (place){.places = self.keys.count,
                   .share = all_ns > 0 ? self.rows[best].ns / all_ns : 0,
                   .operation = (uint32_t)(self.keys.keys[best].a >> 32),
                   .module = (uint32_t)self.keys.keys[best].a,
                   .frame = (uint32_t)self.keys.keys[best].b,
                   .calls = self.rows[best].calls,
                   .of_calls = all};
  groups_free(&self.keys);
  free(self.rows);
  return ok;
}
