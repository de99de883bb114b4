/*
 * Exact interval algebra on half-open intervals [start, end) in nanoseconds.
 *
 * A list is normal when it is sorted and its intervals are neither empty nor touching; all results are normal. On no
 * memory a function returns false and the result is empty.
 */
#ifndef CORE_FACTS_INTERVALS_H
#define CORE_FACTS_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct interval {
  int64_t start, end;
} interval;

typedef struct intervals {
  interval *rows;
  size_t count, room;
  bool unsorted; /* the list may not be normal */
} intervals;

/* For intervals_add(): makes room for one more. */
bool intervals_grow(intervals *list);

/* Adds an interval; what begins within the last one makes that longer, and empty ones are left out. In the header,
 * since it is called for each event. */
static inline bool intervals_add(intervals *list, int64_t start, int64_t end) {
  if (end <= start) return true;
  if (list->count) {
    interval *last = &list->rows[list->count - 1];
    if (start >= last->start && start <= last->end) {
      if (end > last->end) last->end = end;
      return true;
    }
    list->unsorted = list->unsorted || start < last->start;
  }
  if (list->count == list->room && !intervals_grow(list)) return false;
  list->rows[list->count++] = (interval){start, end};
  return true;
}

/* Makes the list normal in place. Linear when it was added to by start, or nearly. */
bool intervals_merge(intervals *list);
void intervals_free(intervals *list);

/* The result of two normal lists goes into `out`, which is emptied first and may not be one of them. */
bool intervals_union(const intervals *a, const intervals *b, intervals *out);
bool intervals_intersect(const intervals *a, const intervals *b, intervals *out);
bool intervals_subtract(const intervals *a, const intervals *b, intervals *out);

/* Total length. */
int64_t intervals_length(const intervals *list);
/* The length of a normal list that lies within [from, to). */
int64_t intervals_within(const intervals *list, int64_t from, int64_t to);

#endif
