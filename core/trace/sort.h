/* Stable natural merge sort of an index array: linear where the input is sorted, n log(runs) where it is nearly so. */
#ifndef CORE_TRACE_SORT_H
#define CORE_TRACE_SORT_H

#include <stdbool.h>
#include <stdint.h>

/* Whether row `a` must come after row `b`. */
typedef bool sort_after(const void *rows, uint32_t a, uint32_t b);

/* `scratch` has room for `count` indices too. */
void sort_runs(uint32_t *order, uint32_t *scratch, uint64_t count, sort_after *after, const void *rows);

#endif
