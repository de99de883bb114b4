/* See record_last.h. */
#include "record_last.h"

#include "base/log.h"

#include <pdhost/record.h>

#include <stdlib.h>
#include <string.h>

struct record_chunk {
  record_chunk *next;
  capture_head head;
  int64_t at_ns; /* when it came */
  uint64_t bytes;
  char data[]; /* malloc'ed with it: rows of 8-byte words lie as they have to */
};
_Static_assert(offsetof(record_chunk, data) % 8 == 0, "rows are read in place");

static void drop_first(record_queue *queue) {
  record_chunk *gone = queue->first;
  queue->first = gone->next;
  if (!queue->first) queue->last = NULL;
  queue->bytes -= gone->bytes + sizeof *gone;
  free(gone);
}

static void empty(record_queue *queue) {
  while (queue->first) drop_first(queue);
}

static record_queue *queue_of(record_last *self, const capture_head *head) {
  switch (head->kind) {
  case CAPTURE_ACTIVITIES:
  case CAPTURE_ANNOTATIONS:
  case CAPTURE_SPANS:
  case CAPTURE_STATES:
  case CAPTURE_CHILDREN:
  case CAPTURE_CODE:
  case CAPTURE_PLACES: return &self->rows;
  case CAPTURE_THREAD_NAMES: return &self->threads;
  default: return &self->about;
  }
}

/* ---- names ---- */

typedef struct row_names {
  uint32_t ids[2]; /* 0: none */
} row_names;

/* Those of row `at`. */
static row_names names_of(const capture_head *head, const char *rows, uint64_t at) {
  const char *row = rows + at * head->row_bytes;
  pd_activity activity;
  capture_annotation range;
  capture_code code;
  switch (head->kind) {
  case CAPTURE_ACTIVITIES:
    if (head->row_bytes != sizeof activity) break;
    memcpy(&activity, row, sizeof activity);
    return (row_names){{activity.name}};
  case CAPTURE_ANNOTATIONS:
  case CAPTURE_SPANS:
    if (head->row_bytes != sizeof range) break;
    memcpy(&range, row, sizeof range);
    return (row_names){{range.name, range.domain}};
  case CAPTURE_CODE:
    if (head->row_bytes != sizeof code) break;
    memcpy(&code, row, sizeof code);
    return (row_names){{code.place}};
  default: break;
  }
  return (row_names){{0}};
}

/* Kernels and calls are named by the recorder itself, as thread 0; all else by the threads of the program. */
static bool is_of_kernels(const capture_head *head) {
  return head->kind == CAPTURE_ACTIVITIES || (head->kind == CAPTURE_STRINGS && !head->thread);
}

/* A row has at least a time. */
static uint64_t rows_in(const capture_head *head, uint64_t bytes) {
  return head->row_bytes >= sizeof(int64_t) ? bytes / head->row_bytes : 0;
}

static void use_names(record_last *self, const capture_head *head, const char *rows, uint64_t bytes, int64_t now_ns) {
  record_names *table = is_of_kernels(head) ? &self->kernels : &self->ranges;
  for (uint64_t i = 0; i < rows_in(head, bytes); i++) {
    const row_names names = names_of(head, rows, i);
    record_names_use(table, names.ids[0], now_ns);
    record_names_use(table, names.ids[1], now_ns);
  }
}

/* ---- rows ---- */

void record_last_add(record_last *self, capture_head head, const void *payload, uint64_t bytes, int64_t now_ns) {
  record_queue *queue = queue_of(self, &head);
  if (head.kind == CAPTURE_STRINGS) {
    record_names *table = is_of_kernels(&head) ? &self->kernels : &self->ranges;
    if (!record_names_add(table, payload, bytes, now_ns)) self->failed = true;
    return;
  }
  if (queue == &self->rows) use_names(self, &head, payload, bytes, now_ns);
  record_chunk *chunk = malloc(sizeof *chunk + bytes);
  if (!chunk) {
    self->failed = true;
    return;
  }
  *chunk = (record_chunk){.head = head, .at_ns = now_ns, .bytes = bytes};
  memcpy(chunk->data, payload, bytes);
  if (queue->last)
    queue->last->next = chunk;
  else
    queue->first = chunk;
  queue->last = chunk;
  queue->bytes += bytes + sizeof *chunk;
  while (self->threads.first && self->threads.bytes > RECORD_LAST_THREAD_BYTES) drop_first(&self->threads);
  while (self->rows.first && self->rows.bytes > RECORD_LAST_ROW_BYTES) {
    self->whole_from_ns = self->rows.first->at_ns;
    drop_first(&self->rows);
  }
}

void record_last_drop(record_last *self, int64_t before_ns) {
  while (self->rows.first && self->rows.first->at_ns < before_ns) drop_first(&self->rows);
}

bool record_last_any(const record_last *self) { return self->rows.first != NULL; }

/* ---- writing ---- */

static bool holds_activities(const record_chunk *chunk) {
  return chunk->head.kind == CAPTURE_ACTIVITIES && chunk->head.row_bytes == sizeof(pd_activity);
}

/* The number of the first call from `begin_ns` on. Calls are numbered in their order: what was launched before has a
 * smaller one, whenever it ran. */
static uint64_t first_call(const record_last *self, int64_t begin_ns) {
  uint64_t first = UINT64_MAX;
  for (const record_chunk *chunk = self->rows.first; chunk; chunk = chunk->next) {
    const pd_activity *rows = (const pd_activity *)(const void *)chunk->data;
    for (uint64_t i = 0; holds_activities(chunk) && i < chunk->bytes / sizeof *rows; i++)
      if (pd_activity_is_call(&rows[i]) && rows[i].start >= begin_ns && rows[i].correlation &&
          rows[i].correlation < first)
        first = rows[i].correlation;
  }
  return first;
}

/* All other rows begin with their time. */
_Static_assert(offsetof(capture_annotation, start_ns) == 0 && offsetof(capture_state, start_ns) == 0 &&
                   offsetof(capture_child, ns) == 0 && offsetof(capture_code, ns) == 0,
               "the time comes first");

/* What of the rows is written. */
typedef struct wanted_rows {
  int64_t begin_ns;
  uint64_t first; /* as first_call() says */
} wanted_rows;

static bool is_wanted(const wanted_rows *self, const record_chunk *chunk, uint64_t at) {
  const char *row = chunk->data + at * chunk->head.row_bytes;
  int64_t start_ns;
  memcpy(&start_ns, row, sizeof start_ns);
  if (!holds_activities(chunk)) return start_ns >= self->begin_ns;
  const pd_activity *activity = (const pd_activity *)(const void *)row;
  if (pd_activity_is_work(activity) || (pd_activity_is_call(activity) && activity->correlation))
    return activity->correlation >= self->first;
  return activity->start >= self->begin_ns;
}

static uint64_t write_rows(const record_chunk *chunk, capture_writer *writer, const wanted_rows *wanted) {
  const uint64_t count = rows_in(&chunk->head, chunk->bytes), bytes = chunk->head.row_bytes;
  capture_head head = chunk->head;
  uint64_t written = 0;
  for (uint64_t from = 0, to; from < count; from = to) { /* runs of rows that are wanted */
    const bool is_run = is_wanted(wanted, chunk, from);
    for (to = from + 1; to < count && is_wanted(wanted, chunk, to) == is_run; to++) {}
    if (!is_run) continue;
    head.first = chunk->head.first + from;
    head.count = (uint32_t)(to - from);
    (void)capture_put(writer, head, chunk->data + from * bytes, (to - from) * bytes);
    written += to - from;
  }
  return written;
}

static void write_all(const record_queue *queue, capture_writer *writer) {
  for (const record_chunk *chunk = queue->first; chunk; chunk = chunk->next)
    (void)capture_put(writer, chunk->head, chunk->data, chunk->bytes);
}

uint64_t record_last_write(const record_last *self, capture_writer *writer, int64_t begin_ns) {
  const wanted_rows wanted = {begin_ns, first_call(self, begin_ns)};
  uint64_t works = 0;
  write_all(&self->about, writer);
  write_all(&self->threads, writer);
  record_names_write(&self->kernels, writer, begin_ns);
  record_names_write(&self->ranges, writer, begin_ns);
  for (const record_chunk *chunk = self->rows.first; chunk; chunk = chunk->next) {
    const uint64_t written = write_rows(chunk, writer, &wanted);
    if (holds_activities(chunk)) works += written;
  }
  return works;
}

static bool lacks(const record_names *table, uint32_t id) { return id && !record_names_has(table, id); }

record_nameless record_last_nameless(const record_last *self, int64_t begin_ns) {
  record_nameless out = {0};
  if (!self->kernels.dropped && !self->ranges.dropped) return out;
  const wanted_rows wanted = {begin_ns, first_call(self, begin_ns)};
  for (const record_chunk *chunk = self->rows.first; chunk; chunk = chunk->next) {
    const bool of_kernels = is_of_kernels(&chunk->head);
    const record_names *table = of_kernels ? &self->kernels : &self->ranges;
    for (uint64_t i = 0; i < rows_in(&chunk->head, chunk->bytes); i++) {
      const row_names names = names_of(&chunk->head, chunk->data, i);
      if (!lacks(table, names.ids[0]) && !lacks(table, names.ids[1])) continue;
      *(of_kernels ? &out.works : &out.ranges) += is_wanted(&wanted, chunk, i);
    }
  }
  return out;
}

void record_last_tell(const record_last *self, uint32_t pid, int64_t last_ns, int64_t now_ns) {
  const int64_t begin_ns = now_ns - last_ns;
  const record_nameless nameless = record_last_nameless(self, begin_ns);
  if (self->whole_from_ns > begin_ns)
    log_line(PD_LOG_WARN, NULL,
             "process %u: of the last %.1f s the first %.1f s are not kept: they need more than %d MB", pid,
             (double)last_ns * 1e-9, (double)(self->whole_from_ns - begin_ns) * 1e-9,
             (int)(RECORD_LAST_ROW_BYTES >> 20));
  if (self->failed)
    log_line(PD_LOG_WARN, NULL, "process %u: memory ran out; some of what was recorded is missing", pid);
  if (nameless.works)
    log_line(PD_LOG_WARN, NULL,
             "process %u: %llu calls and device records have no name: their names need more than %d MB, and those that "
             "were not used for longest are not kept",
             pid, (unsigned long long)nameless.works, (int)(RECORD_NAMES_BYTES >> 20));
  if (nameless.ranges)
    log_line(PD_LOG_WARN, NULL,
             "process %u: %llu ranges and code samples lack a name or a domain: their names need more than %d MB, and "
             "those that were not used for longest are not kept; name ranges without a number",
             pid, (unsigned long long)nameless.ranges, (int)(RECORD_NAMES_BYTES >> 20));
}

void record_last_free(record_last *self) {
  empty(&self->about);
  empty(&self->threads);
  empty(&self->rows);
  record_names_free(&self->kernels);
  record_names_free(&self->ranges);
}
