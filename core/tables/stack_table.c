/*
 * Collapsed stacks, as flamegraph.pl and speedscope read them: frames joined by semicolons, outermost first, and the
 * time of the last frame itself in whole microseconds.
 */
#include "tables.h"

#include <stdlib.h>
#include <string.h>

/* The characters that separate frames and values become '_'. */
static void copy_frame(char *to, const char *frame, size_t length) {
  memcpy(to, frame, length);
  for (size_t i = 0; i < length; i++) {
    unsigned char c = (unsigned char)frame[i];
    if (c <= ' ' || c == ';' || c == 0x7F) to[i] = '_';
  }
}

static const char *frame_text(const trace_facts *facts, uint32_t id) {
  return id ? facts_text(facts, id) : "ProfileStep";
}

static const char *stack_text(const stack_tree *tree, const table_work *work, uint32_t node) {
  size_t length = 0;
  char *text;
  for (uint32_t at = node;;) {
    const group_key *key = &tree->nodes.keys[at];
    length += strlen(frame_text(work->facts, (uint32_t)key->b)) + 1;
    if (!key->a) break;
    at = (uint32_t)(key->a - 1);
  }
  text = arena_take(work->arena, length);
  if (!text) return NULL;
  text[--length] = 0;
  for (uint32_t at = node;;) {
    const group_key *key = &tree->nodes.keys[at];
    const char *frame = frame_text(work->facts, (uint32_t)key->b);
    size_t own = strlen(frame);
    length -= own;
    copy_frame(text + length, frame, own);
    if (!key->a) break;
    text[--length] = ';';
    at = (uint32_t)(key->a - 1);
  }
  return text;
}

typedef struct ordered {
  int64_t value_us;
  uint32_t node, reserved;
} ordered;

static int by_value(const void *a, const void *b) {
  const ordered *x = a, *y = b;
  if (x->value_us != y->value_us) return x->value_us > y->value_us ? -1 : 1;
  return (x->node > y->node) - (x->node < y->node);
}

static const pd_table *make(const table_work *work, bool device) {
  const stack_tree *tree = work->stacks;
  const int64_t *times = device ? tree->device_ns : tree->self_ns;
  ordered *order = malloc(((size_t)tree->nodes.count + 1) * sizeof *order);
  const pd_table *done = NULL;
  uint32_t kept = 0;
  table_build table;
  if (!order) {
    work->arena->failed = true;
    return NULL;
  }
  for (uint32_t i = 0; i < tree->nodes.count; i++) {
    int64_t value_us = (times[i] + 500) / 1000;
    if (value_us > 0) order[kept++] = (ordered){.value_us = value_us, .node = i};
  }
  qsort(order, kept, sizeof *order, by_value);
  table_begin(&table, work->arena, work->is_cuda, device ? "stacks_device" : "stacks",
              device ? "Stacks by device time" : "Stacks by host time",
              "One line per stack for flamegraph.pl and speedscope: frames joined by semicolons, then microseconds.");
  if (work->facts->trace->facts & PD_FACT_FRAMES_SKIPPED)
    table_note(&table, "They hold no Python functions: --no-python skipped these.");
  TABLE_COLUMNS(&table, M_stack, M_value_us);
  for (uint32_t i = 0; i < kept; i++) {
    table_row(&table, 0);
    table_string(&table, M_stack, stack_text(tree, work, order[i].node));
    table_int(&table, M_value_us, order[i].value_us);
  }
  done = table_done(&table);
  free(order);
  return done;
}

const pd_table *stacks_table(const table_work *work) { return make(work, false); }
const pd_table *stacks_device_table(const table_work *work) { return make(work, true); }
