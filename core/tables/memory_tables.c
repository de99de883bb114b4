/*
 * Memory: who allocates (Paddle's Memory Summary), who holds the peak, how much churn there is, and the blocks with
 * their allocation and release (the plugin's Memory view). Tables from the allocation events, per kind of memory.
 */
#include "tables.h"
#include "base/stats.h"
#include "facts/groups.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

enum { TYPE_HOST = 0, TYPE_DEVICE = 1, TYPE_COUNT = 2 };

static const pd_memory_row *event_at(const trace_facts *facts, uint64_t i) {
  return PD_AT(pd_memory_row, &facts->trace->memory, i);
}
static uint32_t type_of(const pd_memory_row *row) { return row->event.device_type ? TYPE_DEVICE : TYPE_HOST; }

/* A run's own host memory is pinned; that of another program's trace is what its allocator of the host gave. */
static const char *memory_name(const table_work *work, uint32_t type, pd_allocator allocator) {
  if (type == TYPE_DEVICE) return work->is_cuda ? "GPU" : "Device";
  return allocator == PD_ALLOCATOR_UNKNOWN ? "Host" : "Pinned host";
}

/* The type's name, which the first of its events has. */
static const char *type_name(const table_work *work, uint32_t type) {
  const uint64_t count = work->facts->trace->memory.count;
  uint64_t i = 0;
  while (i < count && type_of(event_at(work->facts, i)) != type) i++;
  return memory_name(work, type, i < count ? event_at(work->facts, i)->event.allocator : PD_ALLOCATOR_CACHED);
}
static int64_t size_of(const pd_memory_row *row) { return row->event.bytes < 0 ? -row->event.bytes : row->event.bytes; }

/* String id of the range that holds the event, or 0. */
static uint32_t holder(const trace_facts *facts, const pd_memory_row *row) {
  if (row->range >= facts->range_count) return 0;
  return facts_range(facts, row->range)->kind == PD_RANGE_STEP ? 0 : facts_range(facts, row->range)->name;
}
static const char *holder_name(const trace_facts *facts, uint32_t name) {
  return name ? facts_text(facts, name) : "(outside all ranges)";
}

typedef struct ordered {
  int64_t value;
  uint32_t row, reserved;
} ordered;

static int by_value(const void *a, const void *b) {
  const ordered *x = a, *y = b;
  if (x->value != y->value) return x->value > y->value ? -1 : 1;
  return (x->row > y->row) - (x->row < y->row);
}

/* ---- who allocates ----------------------------------------------------------------------------------------- */

typedef struct user {
  int64_t allocations, frees, allocated, freed;
} user;

/* Sums per (range name, type); the caller frees. */
static bool collect_users(const trace_facts *facts, key_groups *keys, user **users) {
  uint64_t count = facts->trace->memory.count;
  uint32_t room = 0;
  for (uint64_t i = 0; i < count; i++) {
    const pd_memory_row *row = event_at(facts, i);
    const uint32_t at = groups_index(keys, holder(facts, row), type_of(row));
    if (at == UINT32_MAX || !PD_ARRAY_FIT_ZERO(*users, room, at + 1)) return false;
    if (row->event.bytes < 0) {
      (*users)[at].frees++;
      (*users)[at].freed += size_of(row);
    } else {
      (*users)[at].allocations++;
      (*users)[at].allocated += size_of(row);
    }
  }
  return true;
}

const pd_table *memory_table(const table_work *work) {
  const trace_facts *facts = work->facts;
  key_groups keys = {0};
  user *users = NULL;
  ordered *order = NULL;
  const pd_table *done = NULL;
  table_build table;
  if (!collect_users(facts, &keys, &users) || !(order = malloc((keys.count + 1) * sizeof *order))) {
    work->arena->failed = true;
    goto out;
  }
  for (uint32_t i = 0; i < keys.count; i++) order[i] = (ordered){.value = users[i].allocated, .row = i};
  qsort(order, keys.count, sizeof *order, by_value);
  table_begin(
      &table, work->arena, work->is_cuda, "memory", "Memory Summary",
      "Each allocation and free counts for the innermost range that did it; increased is negative where a range "
      "frees what others allocated.");
  TABLE_COLUMNS(&table, M_name, M_memory_type, M_allocation_count, M_free_count, M_allocation_size, M_free_size,
                M_increased_size);
  for (uint32_t i = 0; i < keys.count; i++) {
    const user *at = &users[order[i].row];
    table_row(&table, 0);
    table_string(&table, M_name, holder_name(facts, (uint32_t)keys.keys[order[i].row].a));
    table_string(&table, M_memory_type, type_name(work, (uint32_t)keys.keys[order[i].row].b));
    table_int(&table, M_allocation_count, at->allocations);
    table_int(&table, M_free_count, at->frees);
    table_int(&table, M_allocation_size, at->allocated);
    table_int(&table, M_free_size, at->freed);
    table_int(&table, M_increased_size, at->allocated - at->freed);
  }
  done = table_done(&table);
out:
  free(order);
  free(users);
  groups_free(&keys);
  return done;
}

/* ---- blocks ------------------------------------------------------------------------------------------------ */

/* What is alive of the blocks allocated in the window: by address, the event that allocated it. */
typedef struct blocks {
  key_groups addresses; /* address and type */
  uint64_t *event;      /* + 1; 0: freed */
  uint32_t room, reserved;
} blocks;

/* The slot of the event's block; NULL on no memory. */
static uint64_t *block_at(blocks *self, const pd_memory_row *row) {
  const uint32_t at =
      groups_index(&self->addresses, row->event.address, (uint64_t)row->event.device << 1 | type_of(row));
  if (at == UINT32_MAX || !PD_ARRAY_FIT_ZERO(self->event, self->room, at + 1)) return NULL;
  return &self->event[at];
}
static void blocks_free(blocks *self) {
  groups_free(&self->addresses);
  free(self->event);
}

typedef struct most {
  bool any;          /* there is an event of the type, and it has an address */
  int64_t allocated; /* bytes */
  uint64_t events;   /* up to the peak and with it, of any type; 0: the most was there when the window began */
} most;

static most find_peak(const trace_facts *facts, uint32_t type) {
  most peak = {0};
  for (uint64_t i = 0; i < facts->trace->memory.count; i++) {
    const pd_memory_event *event = &event_at(facts, i)->event;
    if (type_of(event_at(facts, i)) != type || !event->address) continue;
    if (!peak.any) peak = (most){.any = true, .allocated = (int64_t)(event->total_allocated - (uint64_t)event->bytes)};
    if ((int64_t)event->total_allocated > peak.allocated ||
        (!peak.events && (int64_t)event->total_allocated == peak.allocated)) {
      peak.allocated = (int64_t)event->total_allocated;
      peak.events = i + 1;
    }
  }
  return peak;
}

typedef struct held {
  int64_t bytes, blocks;
} held;

/* Rows of one type: what the window's ranges held at the peak, and what was there before. */
static bool put_holders(table_build *table, const table_work *work, uint32_t type) {
  const trace_facts *facts = work->facts;
  const most peak = find_peak(facts, type);
  const int64_t total = peak.allocated;
  blocks alive = {0};
  key_groups names = {0};
  held *sums = NULL;
  ordered *order = NULL;
  int64_t known = 0;
  bool ok = false;
  if (!peak.any) return true;
  for (uint64_t i = 0; i < peak.events; i++) {
    const pd_memory_row *row = event_at(facts, i);
    uint64_t *block;
    if (type_of(row) != type) continue;
    block = block_at(&alive, row);
    if (!block) goto out;
    *block = row->event.bytes < 0 ? 0 : i + 1;
  }
  sums = calloc(alive.addresses.count + 1, sizeof *sums);
  order = malloc((alive.addresses.count + 1) * sizeof *order);
  if (!sums || !order) goto out;
  for (uint32_t i = 0; i < alive.addresses.count; i++) {
    uint32_t at;
    if (!alive.event[i]) continue;
    at = groups_index(&names, holder(facts, event_at(facts, alive.event[i] - 1)), 0);
    if (at == UINT32_MAX) goto out;
    sums[at].bytes += size_of(event_at(facts, alive.event[i] - 1));
    sums[at].blocks++;
    known += size_of(event_at(facts, alive.event[i] - 1));
  }
  for (uint32_t i = 0; i < names.count; i++) order[i] = (ordered){.value = sums[i].bytes, .row = i};
  qsort(order, names.count, sizeof *order, by_value);
  for (uint32_t i = 0; i < names.count; i++) {
    table_row(table, 0);
    table_string(table, M_name, holder_name(facts, (uint32_t)names.keys[order[i].row].a));
    table_string(table, M_memory_type, type_name(work, type));
    table_int(table, M_held_bytes, sums[order[i].row].bytes);
    table_percent(table, M_held_percent, sums[order[i].row].bytes, total);
    table_int(table, M_held_blocks, sums[order[i].row].blocks);
  }
  table_row(table, 0);
  table_string(table, M_name, "(allocated before the window)");
  table_string(table, M_memory_type, type_name(work, type));
  table_int(table, M_held_bytes, total - known);
  table_percent(table, M_held_percent, total - known, total);
  ok = true;
out:
  if (!ok) work->arena->failed = true;
  free(sums);
  free(order);
  groups_free(&names);
  blocks_free(&alive);
  return ok;
}

const pd_table *memory_peak_table(const table_work *work) {
  table_build table;
  table_begin(
      &table, work->arena, work->is_cuda, "memory_peak", "Memory at the peak",
      "Who held the memory when most was allocated: blocks allocated in the window, by the innermost range that "
      "allocated them, and the rest.");
  TABLE_COLUMNS(&table, M_name, M_memory_type, M_held_bytes, M_held_percent, M_held_blocks);
  if (!put_holders(&table, work, TYPE_DEVICE) || !put_holders(&table, work, TYPE_HOST)) return NULL;
  return table_done(&table);
}

/* ---- churn ------------------------------------------------------------------------------------------------- */

static bool put_churn(table_build *table, const table_work *work, uint32_t type) {
  const trace_facts *facts = work->facts;
  const most peak = find_peak(facts, type);
  const uint64_t count = facts->trace->memory.count;
  const int64_t steps = facts->step_count ? (int64_t)facts->step_count : 1;
  int64_t allocations = 0, bytes = 0, allocator_ns = 0;
  uint64_t reserved = peak.allocated > 0 ? (uint64_t)peak.allocated : 0; /* at least */
  uint64_t lifetimes = 0;
  double *lifetime_ns = malloc((count + 1) * sizeof *lifetime_ns);
  blocks alive = {0};
  bool ok = false;
  if (!lifetime_ns) goto out;
  for (uint64_t i = 0; i < count; i++) {
    const pd_memory_row *row = event_at(facts, i);
    uint64_t *block;
    if (type_of(row) != type) continue;
    allocator_ns += row->duration_ns;
    if (row->event.total_reserved > reserved) reserved = row->event.total_reserved;
    block = block_at(&alive, row);
    if (!block) goto out;
    if (row->event.bytes >= 0) {
      allocations++;
      bytes += size_of(row);
      *block = i + 1;
    } else {
      if (*block && row->event.address)
        lifetime_ns[lifetimes++] = (double)(row->ts_ns - event_at(facts, *block - 1)->ts_ns);
      *block = 0;
    }
  }
  ok = true;
  if (!peak.any) goto out;
  table_row(table, 0);
  table_string(table, M_memory_type, type_name(work, type));
  table_double(table, M_allocations_per_step, (double)allocations / (double)steps);
  table_int(table, M_bytes_per_step, bytes / steps);
  if (lifetimes) table_int(table, M_median_lifetime, (int64_t)stats_spread(lifetime_ns, lifetimes).median);
  table_int(table, M_allocator_time, allocator_ns);
  table_int(table, M_peak_allocated, peak.allocated);
  table_int(table, M_peak_reserved, (int64_t)reserved);
  /* What was reserved before the first event, no event tells. */
  if (peak.events && (int64_t)event_at(facts, peak.events - 1)->event.total_reserved >= peak.allocated)
    table_int(table, M_fragmentation,
              (int64_t)(event_at(facts, peak.events - 1)->event.total_reserved - (uint64_t)peak.allocated));
out:
  if (!ok) work->arena->failed = true;
  free(lifetime_ns);
  blocks_free(&alive);
  return ok;
}

const pd_table *memory_churn_table(const table_work *work) {
  table_build table;
  table_begin(&table, work->arena, work->is_cuda, "memory_churn", "Memory churn",
              "Lifetimes are of blocks that were both allocated and freed in the window.");
  TABLE_COLUMNS(&table, M_memory_type, M_allocations_per_step, M_bytes_per_step, M_median_lifetime, M_allocator_time,
                M_peak_allocated, M_peak_reserved, M_fragmentation);
  if (!put_churn(&table, work, TYPE_DEVICE) || !put_churn(&table, work, TYPE_HOST)) return NULL;
  return table_done(&table);
}

/* ---- pairs ------------------------------------------------------------------------------------------------- */

typedef struct pair {
  int64_t bytes;
  uint64_t made, freed; /* events + 1; 0: not in the window */
} pair;

static int by_bytes(const void *a, const void *b) {
  const pair *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
  const uint64_t mine = x->made ? x->made : x->freed, other = y->made ? y->made : y->freed;
  return (mine > other) - (mine < other);
}

/* One for each block that an event of the window has; the caller frees. NULL on no memory. */
static pair *find_pairs(const trace_facts *facts, uint64_t *count) {
  const uint64_t events = facts->trace->memory.count;
  pair *pairs = malloc((events + 1) * sizeof *pairs);
  blocks alive = {0};
  bool ok = pairs != NULL;
  *count = 0;
  for (uint64_t i = 0; i < events && ok; i++) {
    const pd_memory_row *row = event_at(facts, i);
    if (!row->event.address || !row->event.bytes) continue;
    uint64_t *block = block_at(&alive, row); /* + 1, of its pair */
    ok = block != NULL;
    if (!ok) break;
    if (row->event.bytes < 0 && *block) {
      pairs[*block - 1].freed = i + 1;
      *block = 0;
    } else {
      const bool made = row->event.bytes > 0;
      pairs[(*count)++] = (pair){.bytes = size_of(row), .made = made ? i + 1 : 0, .freed = made ? 0 : i + 1};
      *block = made ? *count : 0;
    }
  }
  blocks_free(&alive);
  if (ok) return pairs;
  free(pairs);
  return NULL;
}

const pd_table *memory_blocks_table(const table_work *work) {
  enum { SHOWN = 100 };
  const trace_facts *facts = work->facts;
  const int64_t begin_ns = facts->trace->steps.count ? PD_AT(pd_trace_step, &facts->trace->steps, 0)->start_ns : 0;
  uint64_t count = 0;
  table_build table;
  pair *pairs = find_pairs(facts, &count);
  if (!pairs) {
    work->arena->failed = true;
    return NULL;
  }
  qsort(pairs, count, sizeof *pairs, by_bytes);
  table_begin(
      &table, work->arena, work->is_cuda, "memory_blocks", "Memory blocks",
      "The 100 largest blocks, with the operator that allocated each, or freed it where it was allocated before "
      "the window. Times are since the window's first step began.");
  TABLE_COLUMNS(&table, M_name, M_memory_type, M_block_size, M_allocated_at, M_released_at, M_lifetime);
  for (uint64_t i = 0; i < count && i < SHOWN; i++) {
    const pd_memory_row *made = pairs[i].made ? event_at(facts, pairs[i].made - 1) : NULL;
    const pd_memory_row *freed = pairs[i].freed ? event_at(facts, pairs[i].freed - 1) : NULL;
    const pd_memory_row *known = made ? made : freed;
    if (!known) continue;
    table_row(&table, 0);
    table_string(&table, M_name, holder_name(facts, holder(facts, known)));
    table_string(&table, M_memory_type, memory_name(work, type_of(known), known->event.allocator));
    table_int(&table, M_block_size, pairs[i].bytes);
    if (made) table_int(&table, M_allocated_at, made->ts_ns - begin_ns);
    if (freed) table_int(&table, M_released_at, freed->ts_ns - begin_ns);
    if (made && freed) table_int(&table, M_lifetime, freed->ts_ns - made->ts_ns);
  }
  free(pairs);
  return table_done(&table);
}
