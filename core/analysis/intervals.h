/*
 * Exact interval algebra on half-open intervals [start, end) in nanoseconds.
 *
 * A list is normal when it is sorted and its intervals are neither empty nor touching; all results are normal. On no
 * memory a function returns false and the result is empty.
 */
#ifndef CORE_ANALYSIS_INTERVALS_H
#define CORE_ANALYSIS_INTERVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct interval {
  int64_t start, end;
} interval;

typedef struct intervals {
  interval *rows;
  size_t count, room;
} intervals;

/* Appends as given; empty intervals are left out. */
bool intervals_add(intervals *list, int64_t start, int64_t end);
/* Makes the list normal in place. Linear when it is sorted by start already, or nearly. */
bool intervals_merge(intervals *list);
void intervals_free(intervals *list);

/* Of normal lists, into `out`, which is emptied first and may not be one of them. */
bool intervals_union(const intervals *a, const intervals *b, intervals *out);
bool intervals_intersect(const intervals *a, const intervals *b, intervals *out);
bool intervals_subtract(const intervals *a, const intervals *b, intervals *out);

/* Total length. */
int64_t intervals_length(const intervals *list);

#endif
