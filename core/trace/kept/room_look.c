/* See room_look.h. */
#include "room_look.h"

#include "trace/sort.h"
#include "trace/threads.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* A thread hands over rows of different streams one after the other: what is older than its neighbours by so much is
 * not looked for. */
#define DISORDER_NS INT64_C(1000000000)

typedef struct view {
  const unsigned char *base; /* of the mapping, here */
  uint64_t bytes;
  uintptr_t at, chunks; /* of the room and its chunks, there */
  const trace_clock *clock;
  int64_t span_ns, since_ns;
  room_look *out;
  bool no_memory;
} view;

/* Something of the room by its address there; NULL: it does not lie in it. */
static const void *reach(const view *self, const void *there, uint64_t bytes) {
  const uintptr_t address = (uintptr_t)there;
  if (bytes > self->bytes || address < self->at || address - self->at > self->bytes - bytes) return NULL;
  if (address % _Alignof(max_align_t)) return NULL;
  return self->base + (address - self->at);
}

static const chunk *reach_chunk(const view *self, const chunk *there) {
  if ((uintptr_t)there < self->chunks || ((uintptr_t)there - self->chunks) % CHUNK_BYTES) return NULL;
  return reach(self, there, CHUNK_BYTES);
}

static int64_t time_of(const view *self, uint32_t clock, int64_t stamp) {
  return clock == PD_CLOCK_TICKS ? trace_clock_from_ticks(self->clock, (uint64_t)stamp) : stamp;
}

typedef void take_row(const view *self, const void *raw, pd_activity *out);

static void take_call(const view *self, const void *raw, pd_activity *out) {
  raw_call call;
  memcpy(&call, raw, sizeof call);
  *out = (pd_activity){.kind = call.kind,
                       .start = time_of(self, call.clock, call.start),
                       .end = time_of(self, call.clock, call.end),
                       .correlation = call.correlation,
                       .thread = call.thread,
                       .u.api = {.cbid = call.cbid, .result = call.result, .api = call.api}};
}

static void take_device(const view *self, const void *raw, pd_activity *out) {
  raw_device device;
  memcpy(&device, raw, sizeof device);
  *out = device.activity;
  out->start = time_of(self, device.clock, out->start);
  out->end = time_of(self, device.clock, out->end);
}

typedef struct row_kind {
  uint32_t bytes;
  take_row *take;
} row_kind;

static const row_kind calls = {sizeof(raw_call), take_call}, devices = {sizeof(raw_device), take_device};

static const void *row_at(const chunk *of, const row_kind *kind, uint32_t index) {
  return (const unsigned char *)of + CHUNK_HEAD + (size_t)index * kind->bytes;
}

static int64_t end_of_last(const view *self, const chunk *of, const row_kind *kind, uint32_t count) {
  pd_activity last;
  kind->take(self, row_at(of, kind, count - 1), &last);
  return last.end;
}

/* Some rows of a chunk, from `first` on. */
typedef void see_chunk(view *self, const chunk *from, const row_kind *kind, uint32_t first, uint32_t count);

static void see_newest(view *self, const chunk *from, const row_kind *kind, uint32_t first, uint32_t count) {
  const int64_t end_ns = end_of_last(self, from, kind, count);
  (void)first;
  if (end_ns > self->out->newest_ns) self->out->newest_ns = end_ns;
}

static bool is_too_old(const view *self, const chunk *of, const row_kind *kind, uint32_t count) {
  return end_of_last(self, of, kind, count) < self->since_ns - DISORDER_NS;
}

static void see_rows(view *self, const chunk *from, const row_kind *kind, uint32_t first, uint32_t count) {
  room_look *out = self->out;
  if (is_too_old(self, from, kind, count)) return;
  if (!PD_ARRAY_FIT(out->rows, out->room, out->count + count)) {
    self->no_memory = true;
    return;
  }
  for (uint32_t i = first; i < count; i++) {
    pd_activity *row = &out->rows[out->count];
    kind->take(self, row_at(from, kind, i), row);
    out->count += row->end > self->since_ns && row->start <= row->end;
  }
}

/* The mark of a list whose first chunk is `first`; NULL: no memory. */
static room_mark *mark_of(const view *self, const chunk_list *list, const chunk *first) {
  room_look *out = self->out;
  const uint64_t place = (uint64_t)((const unsigned char *)list - self->base);
  uint64_t i = 0;
  while (i < out->mark_count && out->marks[i].list != place) i++;
  if (i == out->mark_count) {
    if (!PD_ARRAY_FIT(out->marks, out->mark_room, i + 1)) return NULL;
    out->marks[out->mark_count++] = (room_mark){.list = place, .first = first};
  }
  room_mark *mark = &out->marks[i];
  if (mark->first != first) *mark = (room_mark){.list = place, .first = first};
  return mark;
}

static void see_list(view *self, const chunk_list *list, const row_kind *kind, see_chunk *see) {
  const uint32_t capacity = (CHUNK_BYTES - CHUNK_HEAD) / kind->bytes;
  uint64_t left = self->bytes / CHUNK_BYTES; /* chunks there are: a circle has more */
  const chunk *there = atomic_load_explicit(&list->first, memory_order_acquire);
  room_mark *mark = there ? mark_of(self, list, there) : NULL;
  bool is_old = mark && see == see_rows; /* so is all before `at` */
  uint32_t first = mark && mark->from ? 0 : list->read;
  const chunk *at = reach_chunk(self, mark && mark->from ? mark->from : there);
  for (; at && left-- && !self->no_memory; first = 0) {
    const uint32_t count = atomic_load_explicit(&at->count, memory_order_acquire);
    if (count > capacity) return;
    self->out->chunks++;
    if (count > first) see(self, at, kind, first, count);
    there = atomic_load_explicit(&at->next, memory_order_acquire);
    const chunk *next = reach_chunk(self, there);
    is_old = is_old && next && count && is_too_old(self, at, kind, count);
    if (is_old) mark->from = there;
    at = next;
  }
}

static void see_threads(view *self, const trace_room *room, see_chunk *see) {
  uint64_t left = self->bytes / sizeof(recorder_thread);
  const recorder_thread *at =
      reach(self, atomic_load_explicit(&room->threads, memory_order_acquire), sizeof(recorder_thread));
  for (; at && left-- && !self->no_memory; at = reach(self, at->next, sizeof(recorder_thread))) {
    see_list(self, &at->calls, &calls, see);
    see_list(self, &at->devices, &devices, see);
  }
}

static bool starts_after(const void *rows, uint32_t a, uint32_t b) {
  const pd_activity *all = rows;
  return all[a].start > all[b].start;
}

static bool sort_rows(room_look *self) {
  uint32_t *order = malloc((2 * self->count + 1) * sizeof *order);
  pd_activity *sorted = malloc((self->count + 1) * sizeof *sorted);
  const bool ok = order && sorted && self->count <= UINT32_MAX;
  if (ok) {
    for (uint32_t i = 0; i < self->count; i++) order[i] = i;
    sort_runs(order, order + self->count, self->count, starts_after, self->rows);
    for (uint64_t i = 0; i < self->count; i++) sorted[i] = self->rows[order[i]];
    free(self->rows);
    self->rows = sorted;
    self->room = self->count + 1;
    sorted = NULL;
  }
  free(order);
  free(sorted);
  return ok;
}

static room_look_state take(view *self, const trace_room *room) {
  room_look *out = self->out;
  const bool was_open = atomic_load_explicit(&room->open, memory_order_acquire);
  out->window = room->window;
  for (int i = 0; i < PD_LOSS_COUNT; i++) out->losses[i] = atomic_load_explicit(&room->losses[i], memory_order_relaxed);
  if (!was_open || out->marked != out->window) out->mark_count = 0;
  out->marked = out->window;
  if (!was_open) return ROOM_LOOK_CLOSED;
  see_threads(self, room, see_newest);
  self->since_ns = out->newest_ns - self->span_ns;
  see_threads(self, room, see_rows);
  atomic_thread_fence(memory_order_acquire);
  if (self->no_memory) return ROOM_LOOK_NO_MEMORY;
  /* The chunks of a window that has ended are given to others. */
  if (!atomic_load_explicit(&room->open, memory_order_acquire) || room->window != out->window) return ROOM_LOOK_CLOSED;
  return sort_rows(out) ? ROOM_LOOK_OPEN : ROOM_LOOK_NO_MEMORY;
}

room_look_state room_look_take(room_look *self, int file, const trace_clock *clock, int64_t span_ns) {
  struct stat about;
  *self = (room_look){.rows = self->rows,
                      .room = self->room,
                      .marks = self->marks,
                      .mark_count = self->mark_count,
                      .mark_room = self->mark_room,
                      .marked = self->marked};
  if (fstat(file, &about) != 0 || about.st_size < (off_t)sizeof(trace_room)) return ROOM_LOOK_NONE;
  const uint64_t bytes = (uint64_t)about.st_size;
  unsigned char *base = mmap(NULL, bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (base == MAP_FAILED) return ROOM_LOOK_NONE;
  const trace_room *room = (const trace_room *)(const void *)base;
  view all = {.base = base,
              .bytes = bytes,
              .at = (uintptr_t)room->place.at,
              .chunks = (uintptr_t)room->place.chunks,
              .clock = clock,
              .span_ns = span_ns,
              .out = self};
  const room_look_state state = room->place.bytes == bytes ? take(&all, room) : ROOM_LOOK_NONE;
  if (state != ROOM_LOOK_OPEN) self->count = 0;
  (void)munmap(base, bytes);
  return state;
}

void room_look_free(room_look *self) {
  free(self->rows);
  free(self->marks);
  *self = (room_look){.rows = NULL};
}
