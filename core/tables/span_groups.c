/* See span_groups.h. */
#include "span_groups.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

void span_stats_add(span_stats *stats, int64_t cpu_ns, int64_t gpu_ns) {
  if (!stats->calls || cpu_ns < stats->cpu_min_ns) stats->cpu_min_ns = cpu_ns;
  if (!stats->calls || gpu_ns < stats->gpu_min_ns) stats->gpu_min_ns = gpu_ns;
  if (cpu_ns > stats->cpu_max_ns) stats->cpu_max_ns = cpu_ns;
  if (gpu_ns > stats->gpu_max_ns) stats->gpu_max_ns = gpu_ns;
  stats->cpu_ns += cpu_ns;
  stats->gpu_ns += gpu_ns;
  stats->calls++;
}

span_group *span_groups_at(span_groups *self, uint32_t parent, uint32_t thread, uint32_t kind, uint32_t name) {
  /* Indices are below 2^30 (groups.c): parent and kind share a word. */
  uint32_t count = self->keys.count;
  uint32_t index = groups_index(&self->keys, (uint64_t)parent << 32 | name, (uint64_t)thread << 32 | kind);
  if (index == UINT32_MAX) return NULL;
  if (index == count) {
    if (!PD_ARRAY_FIT(self->rows, self->room, index + 1)) {
      self->keys.count = count;
      return NULL;
    }
    self->rows[index] = (span_group){.name = name, .thread = thread, .parent = parent, .kind = kind, .order = index};
  }
  return &self->rows[index];
}

void span_groups_free(span_groups *self) {
  groups_free(&self->keys);
  free(self->rows);
  self->rows = NULL;
  self->room = 0;
}

typedef struct ordered {
  int64_t numerator, denominator; /* the sort key as a fraction */
  uint32_t row, parent, thread, reserved;
} ordered;

static void set_key(ordered *at, const span_stats *stats, const char *sorted_by) {
  const char *which = sorted_by && strlen(sorted_by) > 3 ? sorted_by + 3 : "Total";
  bool gpu = sorted_by && !strncmp(sorted_by, "GPU", 3);
  at->denominator = 1;
  if (!strcmp(which, "Max")) {
    at->numerator = gpu ? stats->gpu_max_ns : stats->cpu_max_ns;
  } else if (!strcmp(which, "Min")) {
    at->numerator = gpu ? stats->gpu_min_ns : stats->cpu_min_ns;
  } else {
    at->numerator = gpu ? stats->gpu_ns : stats->cpu_ns;
    if (!strcmp(which, "Avg")) at->denominator = stats->calls ? stats->calls : 1;
  }
}

static int by_key(const void *a, const void *b) {
  const ordered *x = a, *y = b;
  double p, q;
  if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
  if (x->thread != y->thread) return x->thread < y->thread ? -1 : 1;
  p = (double)x->numerator / (double)x->denominator;
  q = (double)y->numerator / (double)y->denominator;
  if (p < q || p > q) return p > q ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

/* The groups under one parent: a slice of the sorted rows. */
typedef struct slice {
  uint32_t at, end;
} slice;

uint32_t *span_order(const span_groups *self, const char *sorted_by) {
  uint32_t count = self->keys.count, written = 0, depth = 0;
  ordered *all = malloc(((size_t)count + 1) * sizeof *all);
  uint32_t *out = malloc(((size_t)count + 1) * sizeof *out);
  slice *under = calloc((size_t)count + 1, sizeof *under); /* by parent; [count]: the outermost groups */
  slice stack[4];                                          /* groups nest three deep at most */
  if (!all || !out || !under) {
    free(out);
    out = NULL;
    goto done;
  }
  for (uint32_t i = 0; i < count; i++) {
    const span_group *row = &self->rows[i];
    all[i] = (ordered){.row = i, .parent = row->parent < count ? row->parent : count, .thread = row->thread};
    set_key(&all[i], &row->stats, sorted_by);
  }
  qsort(all, count, sizeof *all, by_key);
  for (uint32_t i = 0; i < count; i++) {
    slice *of = &under[all[i].parent];
    if (!of->end) of->at = i;
    of->end = i + 1;
  }
  stack[depth++] = under[count];
  while (depth) {
    slice *top = &stack[depth - 1];
    if (top->at == top->end) {
      depth--;
      continue;
    }
    out[written] = all[top->at++].row;
    if (under[out[written]].end && depth < sizeof stack / sizeof stack[0]) stack[depth++] = under[out[written]];
    written++;
  }
done:
  free(all);
  free(under);
  return out;
}

void span_names(table_build *table, const trace_facts *facts, const span_group *group) {
  table_string(table, M_name, facts_text(facts, group->name));
  if (group->thread < facts->trace->threads.count)
    table_string(table, M_thread, facts_text(facts, PD_AT(pd_thread, &facts->trace->threads, group->thread)->name));
}

void span_cells(table_build *table, const span_stats *stats, int64_t cpu_whole, int64_t gpu_whole, bool host,
                bool device) {
  int64_t calls = stats->calls ? stats->calls : 1;
  table_int(table, M_calls, stats->calls);
  if (host) {
    table_int(table, M_cpu_total, stats->cpu_ns);
    table_int(table, M_cpu_avg, stats->cpu_ns / calls);
    table_int(table, M_cpu_max, stats->cpu_max_ns);
    table_int(table, M_cpu_min, stats->cpu_min_ns);
    table_percent(table, M_cpu_ratio, stats->cpu_ns, cpu_whole);
  }
  if (device) {
    table_int(table, M_gpu_total, stats->gpu_ns);
    table_int(table, M_gpu_avg, stats->gpu_ns / calls);
    table_int(table, M_gpu_max, stats->gpu_max_ns);
    table_int(table, M_gpu_min, stats->gpu_min_ns);
    table_percent(table, M_gpu_ratio, stats->gpu_ns, gpu_whole);
  }
}
