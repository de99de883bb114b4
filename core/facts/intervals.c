/* See intervals.h. */
#include "intervals.h"

#include "trace/trace_memory.h"

#include <stdlib.h>
#include <string.h>

bool intervals_grow(intervals *list) {
  size_t room = list->room ? list->room * 4 : 64;           /* pages that are never written take no memory */
  interval *rows = trace_scratch_alloc(room, sizeof *rows); /* in huge pages where it is large: not so realloc */
  if (!rows) {
    list->count = 0;
    return false;
  }
  if (list->count) memcpy(rows, list->rows, list->count * sizeof *rows);
  free(list->rows);
  list->rows = rows;
  list->room = room;
  return true;
}

void intervals_free(intervals *list) {
  free(list->rows);
  *list = (intervals){0};
}

static int by_start(const void *a, const void *b) {
  const interval *x = a, *y = b;
  if (x->start != y->start) return x->start < y->start ? -1 : 1;
  return (x->end > y->end) - (x->end < y->end);
}

/* Merges the two sorted halves [0, middle) and [middle, count) through `spare`. */
static void merge_halves(interval *rows, size_t middle, size_t count, interval *spare) {
  size_t a = 0, b = middle, at = 0;
  for (size_t i = 0; i < middle; i++) spare[i] = rows[i];
  while (a < middle && b < count) rows[at++] = rows[b].start < spare[a].start ? rows[b++] : spare[a++];
  while (a < middle) rows[at++] = spare[a++];
}

/* Traces come as a few sorted runs (one per thread): merging runs costs count x log(runs), not count x log(count). */
static bool sort_runs(interval *rows, size_t count) {
  size_t runs = 1;
  interval *spare;
  for (size_t i = 1; i < count; i++) runs += rows[i].start < rows[i - 1].start;
  if (runs == 1) return true;
  if (runs > 8) {
    qsort(rows, count, sizeof *rows, by_start);
    return true;
  }
  spare = malloc(count * sizeof *spare);
  if (!spare) return false;
  for (size_t end = 1; end < count;) {
    size_t from = end;
    while (from < count && rows[from].start >= rows[from - 1].start) from++;
    if (from == count) break;
    end = from + 1;
    while (end < count && rows[end].start >= rows[end - 1].start) end++;
    merge_halves(rows, from, end, spare);
  }
  free(spare);
  return true;
}

bool intervals_merge(intervals *list) {
  size_t at = 0;
  if (!list->unsorted) return true;
  list->unsorted = false;
  if (!sort_runs(list->rows, list->count)) {
    list->count = 0;
    return false;
  }
  for (size_t i = 1; i < list->count; i++) {
    if (list->rows[i].start <= list->rows[at].end) {
      if (list->rows[i].end > list->rows[at].end) list->rows[at].end = list->rows[i].end;
    } else {
      list->rows[++at] = list->rows[i];
    }
  }
  list->count = at + 1;
  return true;
}

static void empty(intervals *list) {
  list->count = 0;
  list->unsorted = false;
}

bool intervals_union(const intervals *a, const intervals *b, intervals *out) {
  size_t i = 0, j = 0;
  empty(out);
  while (i < a->count || j < b->count) {
    const interval *next =
        j == b->count || (i < a->count && a->rows[i].start <= b->rows[j].start) ? &a->rows[i++] : &b->rows[j++];
    if (!intervals_add(out, next->start, next->end)) return false;
  }
  return true;
}

bool intervals_intersect(const intervals *a, const intervals *b, intervals *out) {
  size_t i = 0, j = 0;
  empty(out);
  while (i < a->count && j < b->count) {
    const interval *x = &a->rows[i], *y = &b->rows[j];
    int64_t start = x->start > y->start ? x->start : y->start, end = x->end < y->end ? x->end : y->end;
    if (!intervals_add(out, start, end)) return false;
    if (x->end < y->end)
      i++;
    else
      j++;
  }
  return true;
}

bool intervals_subtract(const intervals *a, const intervals *b, intervals *out) {
  size_t j = 0;
  empty(out);
  for (size_t i = 0; i < a->count; i++) {
    int64_t start = a->rows[i].start, end = a->rows[i].end;
    while (j < b->count && b->rows[j].end <= start) j++;
    for (size_t k = j; k < b->count && b->rows[k].start < end; k++) {
      if (!intervals_add(out, start, b->rows[k].start)) return false;
      start = b->rows[k].end;
      j = k;
    }
    if (!intervals_add(out, start, end)) return false;
  }
  return true;
}

int64_t intervals_length(const intervals *list) {
  int64_t length = 0;
  for (size_t i = 0; i < list->count; i++) length += list->rows[i].end - list->rows[i].start;
  return length;
}

int64_t intervals_within(const intervals *list, int64_t from, int64_t to) {
  int64_t length = 0;
  for (size_t i = 0; i < list->count; i++) {
    const int64_t start = list->rows[i].start > from ? list->rows[i].start : from;
    const int64_t end = list->rows[i].end < to ? list->rows[i].end : to;
    if (end > start) length += end - start;
  }
  return length;
}
