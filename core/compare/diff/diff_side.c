/* See diff_side.h. */
#include "diff_side.h"

#include "base/error.h"
#include "ledger/gains.h"
#include "ledger/ledger.h"
#include "run/import/import_windows.h"
#include "tables/shape_text.h"
#include "tables/verdict_withheld.h"
#include "trace/intake/intake.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

/* FNV-1a of 64 bits (Fowler, Noll, Vo), from a basis of its own for either half of a key. */
static uint64_t hash_text(uint64_t hash, const char *text) {
  do hash = (hash ^ (unsigned char)*text) * 0x100000001b3u;
  while (*text++);
  return hash;
}

/* PD_NONE on no memory. */
static uint32_t key_of(diff_side *self, diff_kind kind, const char *name, const char *shape) {
  const uint64_t first = hash_text(hash_text(0xcbf29ce484222325u + kind, name), shape);
  const uint64_t second = hash_text(hash_text(0x9ae16a3b2f90404fu + kind, shape), name);
  const uint32_t index = groups_index(&self->key_of, first, second);
  if (index < self->key_count || index == UINT32_MAX) return index;
  if (!PD_ARRAY_FIT(self->keys, self->key_room, self->key_count + 1)) return PD_NONE;
  self->keys[self->key_count++] = (diff_key){.kind = kind,
                                             .name = arena_text(&self->texts, name, strlen(name)),
                                             .shape = arena_text(&self->texts, shape, strlen(shape))};
  return self->texts.failed ? PD_NONE : index;
}

/* `step` is of the window. */
static bool add(diff_side *self, uint32_t key, uint32_t step, int64_t ns) {
  if (key == PD_NONE) return false;
  const uint32_t at = self->step_count + step, index = groups_index(&self->cell_of, key, at);
  if (index == UINT32_MAX) return false;
  if (index == self->cell_count) {
    if (!PD_ARRAY_FIT(self->cells, self->cell_room, self->cell_count + 1)) return false;
    self->cells[self->cell_count++] = (diff_cell){.key = key, .step = at};
  }
  self->cells[index].ns += ns;
  self->keys[key].ns += (double)ns;
  self->keys[key].count++;
  return true;
}

/* ---- one window ---- */

typedef struct window {
  diff_side *side;
  const trace_facts *facts;
  key_groups names; /* what tells keys apart in this window */
  uint32_t *keys;   /* by group */
  uint32_t key_room;
  arena texts;
} window;

/* The place of the side's key for what the window tells apart by two numbers; PD_NONE in it: not made yet. */
static uint32_t *slot_of(window *self, uint64_t a, uint64_t b) {
  const uint32_t group = groups_index(&self->names, a, b), first_new = self->key_room;
  if (group == UINT32_MAX) return NULL;
  if (!PD_ARRAY_FIT(self->keys, self->key_room, group + 1)) return NULL;
  for (uint32_t i = first_new; i < self->key_room; i++) self->keys[i] = PD_NONE;
  return &self->keys[group];
}

static bool add_record(window *self, const pd_device_row *row) {
  const pd_activity *of = &row->detail;
  const bool is_kernel = of->kind == PD_ACTIVITY_KERNEL;
  const uint32_t *grid = of->u.kernel.grid, *block = of->u.kernel.block;
  const uint64_t shape = is_kernel ? groups_mix(groups_mix((uint64_t)grid[0] << 32 | grid[1], grid[2]),
                                                groups_mix((uint64_t)block[0] << 32 | block[1], block[2]))
                                   : 0;
  uint32_t *slot = slot_of(self, (uint64_t)DIFF_KERNEL << 32 | row->name, shape);
  if (!slot) return false;
  if (*slot == PD_NONE) {
    const char *text = "";
    if (is_kernel)
      text = arena_format(&self->texts, "grid [%u, %u, %u], block [%u, %u, %u]", grid[0], grid[1], grid[2], block[0],
                          block[1], block[2]);
    if (!text) return false;
    *slot = key_of(self->side, DIFF_KERNEL, facts_text(self->facts, row->name), text);
  }
  self->side->has_device = true;
  return add(self->side, *slot, row->step, facts_span(row->start_ns, row->end_ns));
}

static uint64_t shape_hash(const pd_trace *trace, const pd_range *range) {
  uint64_t hash = range->shape_count;
  for (uint32_t s = 0; s < range->shape_count; s++) {
    const pd_shape *shape = PD_AT(pd_shape, &trace->shapes, range->shape_first + s);
    hash = groups_mix(hash, shape->rank);
    for (uint32_t d = 0; d < shape->rank && d < 4; d++) hash = groups_mix(hash, (uint64_t)shape->dims[d]);
  }
  return hash;
}

/* `has_device`: of the window. */
static bool add_operation(window *self, uint64_t index, bool has_device) {
  const pd_trace *trace = self->facts->trace;
  const pd_range *range = facts_range(self->facts, index);
  const int64_t ns = has_device ? self->facts->device_self_ns[index] : self->facts->range_self_ns[index];
  if (has_device && !ns) return true; /* launched nothing itself */
  uint32_t *slot = slot_of(self, (uint64_t)DIFF_OPERATOR << 32 | range->name, shape_hash(trace, range));
  if (!slot) return false;
  if (*slot == PD_NONE) {
    const char *shape = range->shape_count ? shapes_text(trace, range, &self->texts) : "";
    if (!shape) return false;
    *slot = key_of(self->side, DIFF_OPERATOR, facts_text(self->facts, range->name), shape);
  }
  return add(self->side, *slot, range->step, ns);
}

static bool add_events(window *self) {
  const trace_facts *facts = self->facts;
  bool ok = true, has_device = false;
  for (uint64_t i = 0; i < facts->activity_count && ok; i++) {
    if (facts_activity(facts, i)->step >= facts->step_count) continue;
    has_device = true;
    ok = add_record(self, facts_activity(facts, i));
  }
  for (uint64_t i = 0; i < facts->range_count && ok; i++) {
    const pd_range *range = facts_range(facts, i);
    if (facts_is_operation(range->kind) && range->step < facts->step_count) ok = add_operation(self, i, has_device);
  }
  return ok;
}

static bool add_ledger(diff_side *self, const trace_facts *facts, const gains *found) {
  static const char *const names[] = {
#define X(key, state, text) text,
      LEDGER_MAP(X)
#undef X
  };
  ledger of;
  if (!facts->activity_count) return true; /* nothing is known of the device */
  if (!ledger_open(facts, found, &of)) return false;
  bool ok = true;
  for (uint32_t s = 0; s < facts->step_count && ok; s++)
    for (uint32_t cause = 0; cause < LEDGER_OWNER_COUNT && ok; cause++) {
      const int64_t ns = of.rows[(size_t)s * LEDGER_OWNER_COUNT + cause];
      if (ns) ok = add(self, key_of(self, DIFF_LEDGER, names[cause], ""), s, ns);
    }
  ledger_free(&of);
  return ok;
}

/* Gains of several windows are weighed by their steps. */
static bool add_gains(diff_side *self, const trace_facts *facts, const gains *found) {
  const char *why_not = verdict_withheld(facts, found, &self->texts, NULL);
  if (why_not) {
    self->withheld = why_not;
    return !self->texts.failed;
  }
  self->cause = found->cause;
  const double before = (double)self->gain_steps, now = (double)found->steps;
  for (uint32_t c = 0; c < VERDICT_none; c++) {
    const gains_cause *from = &found->causes[c];
    diff_gain *to = &self->gains[c];
    to->ns = (to->ns * before + (from->gain > 0 ? from->gain : 0) * found->step_ns * now) / (before + now);
    to->low = (to->low * before + (from->low > 0 ? from->low : 0) * found->step_ns * now) / (before + now);
    to->high = (to->high * before + (from->high > 0 ? from->high : 0) * found->step_ns * now) / (before + now);
  }
  self->gain_steps += found->steps;
  return true;
}

static bool add_steps(diff_side *self, const trace_facts *facts) {
  for (uint64_t s = 0; s < facts->step_count; s++) {
    if (!PD_ARRAY_FIT(self->step_ns, self->step_room, self->step_count + 1)) return false;
    self->step_ns[self->step_count++] =
        (double)facts_span(facts_step(facts, s)->start_ns, facts_step(facts, s)->end_ns);
  }
  return true;
}

/* A step and a whole recording have no mean: windows without a loop count where no window has one. */
static bool is_left_out(diff_side *self, bool has_loop) {
  if (self->has_loop && !has_loop) {
    self->left_out++;
    return true;
  }
  if (!self->has_loop && has_loop) {
    const diff_side empty = {.path = self->path,
                             .cause = VERDICT_COUNT,
                             .device = "",
                             .has_loop = true,
                             .left_out = self->step_count,
                             .cut = self->cut};
    diff_side_close(self);
    *self = empty;
  }
  return false;
}

static int take_window(void *user, const char *path, pd_trace *trace) {
  diff_side *self = user;
  trace_facts *facts = facts_open(trace);
  if (facts && is_left_out(self, !verdict_steps_unknown(facts))) {
    facts_close(facts);
    return CODE_DONE;
  }
  window in = {.side = self, .facts = facts};
  gains found = {0};
  bool ok = facts && add_events(&in) && gains_find(facts, &found) && add_ledger(self, facts, &found) &&
            add_gains(self, facts, &found);
  gains_free(&found);
  ok = ok && add_steps(self, facts); /* last: until then the steps of this window follow those before */
  self->records += trace->activities.count;
  self->calls += trace->calls.count;
  if (ok && trace->device && trace->device->name && strcmp(trace->device->name, INTAKE_DEVICE_UNKNOWN) != 0)
    self->device = arena_text(&self->texts, trace->device->name, strlen(trace->device->name));
  self->marked = (trace->facts & PD_FACT_STEPS) != 0;
  self->cut |= trace->partial && facts_is_read(trace);
  groups_free(&in.names);
  free(in.keys);
  arena_free(&in.texts);
  facts_close(facts);
  if (ok && !self->texts.failed) return CODE_DONE;
  error_line_print(FAULT_MEMORY, NULL, "%s: out of memory", path);
  return CODE_INTERNAL;
}

int diff_side_read(config *settings, const import_request *request, const char *path, diff_side *out) {
  *out = (diff_side){.path = path, .cause = VERDICT_COUNT, .device = ""};
  return import_windows(settings, request, path, take_window, out);
}

void diff_side_close(diff_side *self) {
  free(self->step_ns);
  free(self->keys);
  free(self->cells);
  groups_free(&self->key_of);
  groups_free(&self->cell_of);
  arena_free(&self->texts);
}
