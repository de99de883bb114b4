/* Natural merge sort. See sort.h. */
#include "sort.h"

#include <string.h>

static uint64_t run_end(const uint32_t *order, uint64_t from, uint64_t count, sort_after *after, const void *rows) {
  uint64_t end = from + 1;
  while (end < count && !after(rows, order[end - 1], order[end])) end++;
  return end;
}

void sort_runs(uint32_t *order, uint32_t *scratch, uint64_t count, sort_after *after, const void *rows) {
  uint32_t *from = order, *to = scratch;
  for (;;) {
    uint64_t at = 0, runs = 0;
    while (at < count) {
      uint64_t middle = run_end(from, at, count, after, rows);
      uint64_t end = middle < count ? run_end(from, middle, count, after, rows) : middle;
      uint64_t left = at, right = middle, out = at;
      if (!at && middle >= count) { /* one run: sorted */
        if (from != order) memcpy(order, from, count * sizeof *order);
        return;
      }
      while (left < middle && right < end) {
        if (after(rows, from[left], from[right]))
          to[out++] = from[right++];
        else
          to[out++] = from[left++];
      }
      memcpy(to + out, from + left, (middle - left) * sizeof *to);
      out += middle - left;
      memcpy(to + out, from + right, (end - right) * sizeof *to);
      at = end;
      runs++;
    }
    uint32_t *swap = from;
    from = to;
    to = swap;
    if (runs <= 1) {
      if (count && from != order) memcpy(order, from, count * sizeof *order);
      return;
    }
  }
}
