/* See temporaries.h. */
#include "temporaries.h"

#include <stdlib.h>

typedef struct memory_key {
  uint64_t address;
  int64_t ts_ns;
  uint64_t row;
} memory_key;

static int by_address(const void *a, const void *b) {
  const memory_key *x = a, *y = b;
  if (x->address != y->address) return x->address < y->address ? -1 : 1;
  if (x->ts_ns != y->ts_ns) return x->ts_ns < y->ts_ns ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

static bool is_temporary(const trace_facts *facts, const pd_memory_row *made, const pd_memory_row *freed) {
  if (made->event.bytes <= 0 || freed->event.bytes >= 0 || made->event.device_type != 1) return false;
  if (made->event.allocator == PD_ALLOCATOR_UNKNOWN)
    return false; /* which ranges are the model's is not known either */
  if (made->event.address != freed->event.address || made->step == PD_NONE || made->step != freed->step) return false;
  return made->range >= facts->range_count || facts_range(facts, made->range)->part == PD_PART_NONE;
}

bool temporaries_find(const trace_facts *facts, uint64_t *count_out, uint64_t *bytes, intervals *alive) {
  const uint64_t count = facts->trace->memory.count;
  memory_key *order = malloc((count + 1) * sizeof *order);
  bool ok = order != NULL;
  for (uint64_t i = 0; ok && i < count; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &facts->trace->memory, i);
    order[i] = (memory_key){row->event.address, row->ts_ns, i};
  }
  if (ok) qsort(order, count, sizeof *order, by_address);
  for (uint64_t i = 0; ok && i + 1 < count; i++) {
    const pd_memory_row *made = PD_AT(pd_memory_row, &facts->trace->memory, order[i].row);
    const pd_memory_row *freed = PD_AT(pd_memory_row, &facts->trace->memory, order[i + 1].row);
    if (!is_temporary(facts, made, freed)) continue;
    ++*count_out;
    *bytes += (uint64_t)made->event.bytes;
    ok = intervals_add(alive, made->ts_ns, freed->ts_ns);
  }
  free(order);
  return ok && intervals_merge(alive);
}
