/* See record_rings.h. */
#include "record_rings.h"

#include "base/log.h"

#include <pdhost/array.h>
#include <pdhost/clocks.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

pd_status record_rings_open(record_rings *self, record_session *session, const char *folder, const char *step) {
  *self = (record_rings){.session = session, .folder = folder};
  self->all = calloc(RECORD_SLOTS, sizeof *self->all);
  if (!self->all) return PD_NO_MEMORY;
  for (uint32_t i = 0; i < RECORD_SLOTS; i++)
    self->all[i] = (record_ring){.slot = i, .steps = {.name = step}, .reader = {.fd = -1}, .writer = {.fd = -1}};
  return PD_OK;
}

/* "python" of "/usr/bin/python3.11 train.py": what can stand in a file's name, without endings. */
static void name_of(const char *command, char *out, size_t room) {
  const size_t words = strcspn(command, " ");
  size_t from = words, used = 0;
  while (from && command[from - 1] != '/') from--;
  for (; from < words && used + 1 < room && command[from] != '.'; from++) {
    const char c = command[from];
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
    out[used++] = c;
    if (!plain) out[used - 1] = '_';
  }
  out[used] = '\0';
  if (!used) (void)snprintf(out, room, "program");
}

static record_slot *slot_of(const record_rings *self, const record_ring *ring) {
  return &self->session->board->slots[ring->slot];
}

/* False: it cannot be, which `fault` tells. */
static bool make_capture(record_rings *self, record_ring *ring, const char *folder) {
  const record_slot *slot = slot_of(self, ring);
  char name[64];
  name_of(slot->command, name, sizeof name);
  const long long ms = ring->realtime_ns / 1000000;
  if (asprintf(&ring->path, "%s/%s.%u.%lld.pdcap", folder, name, ring->pid, ms) < 0) ring->path = NULL;
  errno = ENOMEM;
  if (!ring->path ||
      capture_create(&ring->writer, ring->path, CAPTURE_OF_PROGRAM, ring->pid, ring->realtime_ns) != PD_OK) {
    self->fault = errno;
    if (ring->writer.fd >= 0) {
      (void)capture_close(&ring->writer, false);
      (void)unlink(ring->path);
    }
    free(ring->path);
    ring->path = NULL;
    return false;
  }
  capture_program about = {
      .pid = ring->pid, .cupti_version = slot->cupti_version, .rank = slot->rank, .ranks = slot->ranks};
  memcpy(about.command, slot->command, sizeof about.command);
  about.command[sizeof about.command - 1] = '\0';
  const capture_head head = {
      .kind = CAPTURE_PROGRAM, .window = CAPTURE_NO_WINDOW, .count = 1, .row_bytes = sizeof about};
  (void)capture_put(&ring->writer, head, &about, sizeof about);
  return true;
}

/* To the capture, or to what is kept of the last seconds. */
static void put(const record_rings *self, record_ring *ring, capture_head head, const void *data, uint64_t bytes) {
  if (self->last_ns)
    record_last_add(&ring->last, head, data, bytes, pd_clock_ns(CLOCK_REALTIME));
  else
    (void)capture_put(&ring->writer, head, data, bytes);
}

/* When a program makes more threads than this, their names are asked for again. */
enum { THREADS_KNOWN = 16384 };

/* While the process lives: a thread that has ended has no name any more. */
static void name_thread(const record_rings *self, record_ring *ring, uint32_t tid) {
  char path[64];
  capture_thread_name row = {.tid = tid};
  for (uint32_t i = ring->thread_count; i; i--)
    if (ring->threads[i - 1] == tid) return;
  if (ring->thread_count == THREADS_KNOWN) ring->thread_count = 0;
  if (!PD_ARRAY_FIT(ring->threads, ring->thread_room, ring->thread_count + 1)) return;
  ring->threads[ring->thread_count++] = tid;
  (void)snprintf(path, sizeof path, "/proc/%u/task/%u/comm", ring->reader.pid, tid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = fd >= 0 ? read(fd, row.name, sizeof row.name - 1) : 0;
  if (fd >= 0) (void)close(fd);
  if (bytes <= 0) return;
  row.name[strcspn(row.name, "\n")] = '\0';
  const capture_head head = {
      .kind = CAPTURE_THREAD_NAMES, .window = CAPTURE_NO_WINDOW, .count = 1, .row_bytes = sizeof row};
  put(self, ring, head, &row, sizeof row);
}

static void name_threads(const record_rings *self, record_ring *ring, const pd_activity *rows, uint32_t count) {
  uint32_t last = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (!pd_activity_is_call(&rows[i]) || rows[i].thread == last) continue;
    last = rows[i].thread;
    name_thread(self, ring, last);
  }
}

/* Launches, copies and sets, or what they did: a process that only takes memory has done nothing on a GPU. */
static bool shows_work(const pd_activity *row) {
  if (!pd_activity_is_call(row)) return pd_activity_is_work(row);
  return row->u.api.api >= PD_API_LAUNCH && row->u.api.api <= PD_API_GRAPH_LAUNCH;
}

static void show_steps(record_rings *self, record_ring *ring, const void *data, uint32_t bytes) {
  for (uint32_t at = 0; self->live && at + sizeof(capture_annotation) <= bytes; at += sizeof(capture_annotation)) {
    capture_annotation row;
    memcpy(&row, (const char *)data + at, sizeof row);
    if (!record_steps_is_bound(&ring->steps, &row)) continue;
    if (!self->marks) self->marks = ring->slot + 1;
    if (self->marks == ring->slot + 1) record_live_step(self->live, row.end_ns);
  }
}

/* Where the last seconds are kept, their losses are counted at the end, and not by their pauses. */
static void put_pauses(const record_rings *self, record_ring *ring, capture_head head, const char *data,
                       uint32_t bytes) {
  capture_pause row;
  head.count = 1;
  for (uint32_t at = 0; at + sizeof row <= bytes; at += (uint32_t)sizeof row, head.first++) {
    memcpy(&row, data + at, sizeof row);
    if (self->last_ns) memset(row.lost, 0, sizeof row.lost);
    put(self, ring, head, &row, sizeof row);
  }
}

/* ---- what the host does ---- */

static void put_host(void *user, capture_kind kind, uint32_t thread, const void *rows, uint32_t row_bytes,
                     uint32_t count) {
  const record_taking *to = user;
  const capture_head head = {
      .kind = kind, .window = CAPTURE_NO_WINDOW, .thread = thread, .count = count, .row_bytes = row_bytes};
  put(to->rings, to->ring, head, rows, (uint64_t)row_bytes * count);
}

/* A process with numbers of its own, as in a container, has threads that go by others here: they are not looked at. */
static void watch_host(record_rings *self, record_ring *ring, const pd_activity *rows, uint32_t count) {
  const uint32_t pid = ring->reader.pid;
  if (!ring->works || self->host_way == RECORD_HOST_NONE || !pid || pid != slot_of(self, ring)->pid) return;
  ring->to = (record_taking){self, ring};
  if (!ring->host) ring->host = record_host_open((pid_t)pid, self->host_way, self->with_places, put_host, &ring->to);
  if (ring->host) record_host_calls(ring->host, rows, count);
}

bool record_rings_look(record_rings *self) {
  bool any = false;
  for (uint32_t i = 0; i < record_session_count(self->session); i++) any |= record_host_look(self->all[i].host);
  return any;
}

static void look_at(record_rings *self, record_ring *ring, const pd_activity *rows, uint32_t count) {
  for (uint32_t i = 0; i < count; i++) ring->works += shows_work(&rows[i]);
  name_threads(self, ring, rows, count);
  record_live_add(self->live, ring->slot, &ring->live, rows, count);
  watch_host(self, ring, rows, count);
}

static pd_status take(void *user, uint32_t kind, uint32_t thread, uint32_t row_bytes, uint64_t first, const void *data,
                      uint32_t bytes) {
  const record_taking *self = user;
  record_ring *ring = self->ring;
  /* A ring without a capture is emptied all the same: the program is not to be slowed. */
  if (!self->rings->last_ns && !ring->path && !make_capture(self->rings, ring, self->rings->folder)) return PD_OK;
  const uint64_t before = ring->writer.bytes;
  capture_head head = {.kind = kind,
                       .window = CAPTURE_NO_WINDOW,
                       .thread = thread,
                       .first = first,
                       .count = bytes / row_bytes,
                       .row_bytes = row_bytes};
  if (kind == CAPTURE_STRINGS) {
    head.first = 0; /* each says its number */
    head.count = bytes;
    head.row_bytes = 1;
    put(self->rings, ring, head, data, bytes);
    record_steps_strings(&ring->steps, data, bytes);
  } else {
    if (kind == CAPTURE_PAUSES && row_bytes == sizeof(capture_pause))
      put_pauses(self->rings, ring, head, data, bytes);
    else
      put(self->rings, ring, head, data, bytes);
    if (kind == CAPTURE_ANNOTATIONS || kind == CAPTURE_SPANS) {
      record_steps_annotations(&ring->steps, data, bytes);
      show_steps(self->rings, ring, data, bytes);
    }
    if (kind == CAPTURE_PAUSES) record_steps_pause(&ring->steps);
    if (kind == CAPTURE_ACTIVITIES && row_bytes == sizeof(pd_activity))
      look_at(self->rings, ring, data, bytes / row_bytes);
  }
  self->rings->bytes += ring->writer.bytes - before;
  if (!self->rings->last_ns && ring->writer.fault) self->rings->fault = ring->writer.fault;
  return PD_OK;
}

/* The state of the recording now. */
static capture_program_end end_now(const record_rings *self, const record_ring *ring) {
  capture_program_end end = {.torn = ring->reader.torn,
                             .whole_until_ns =
                                 atomic_load_explicit(&slot_of(self, ring)->whole_until_ns, memory_order_acquire)};
  for (uint32_t i = 0; i < RING_LOSSES; i++) end.lost[i] = ring_lost_count(&ring->reader, i);
  return end;
}

static void close_capture(record_rings *self, record_ring *ring, const capture_program_end *end) {
  const capture_head head = {
      .kind = CAPTURE_PROGRAM_END, .window = CAPTURE_NO_WINDOW, .count = 1, .row_bytes = sizeof *end};
  (void)capture_put(&ring->writer, head, end, sizeof *end);
  (void)capture_close(&ring->writer, false);
  if (ring->writer.fault) self->fault = ring->writer.fault;
}

static void end_capture(record_rings *self, record_ring *ring) {
  record_host_close(ring->host);
  ring->host = NULL;
  ring->end = end_now(self, ring);
  if (ring->path) close_capture(self, ring, &ring->end);
  ring_close(&ring->reader);
  ring->closed = true;
}

/* ---- the last seconds ---- */

/* What is lost counts for what is kept: not longer than two spans. */
static void forget_old(const record_rings *self, record_ring *ring, int64_t now_ns) {
  if (!self->last_ns) return;
  record_last_drop(&ring->last, now_ns - self->last_ns);
  if (!ring->open || ring->closed || now_ns - ring->before_ns < self->last_ns) return;
  ring->before[0] = ring->before[1];
  ring->before[1] = end_now(self, ring);
  ring->before_ns = now_ns;
}

void record_rings_forget(record_rings *self) {
  for (uint32_t i = 0; i < RECORD_SLOTS; i++) {
    free(self->all[i].path);
    self->all[i].path = NULL;
  }
}

/* ---- the rings ---- */

/* The file is there as soon as the process is at its place; its contents a moment later. */
static bool open_ring(const record_rings *self, record_ring *ring) {
  char path[320];
  const record_state state = record_slot_state(slot_of(self, ring));
  if (ring->open || ring->closed) return ring->open && !ring->closed;
  if (state != RECORD_RUNS && state != RECORD_DONE) return false;
  (void)snprintf(path, sizeof path, "%s/%u.ring", self->session->folder, ring->slot);
  ring->open = ring_open(&ring->reader, path) == PD_OK;
  if (!ring->open) ring_close(&ring->reader);
  if (!ring->open) return false;
  (void)unlink(path); /* so that its memory is free once both processes are done with it, however they end */
  ring->realtime_ns = ring->reader.head->realtime_ns;
  return true;
}

static void show_state(const record_rings *self, uint32_t writing) {
  uint64_t lost = 0;
  if (!self->live) return;
  for (uint32_t i = 0; i < record_session_count(self->session); i++) {
    const record_ring *ring = &self->all[i];
    for (uint32_t loss = 0; ring->open && loss < RING_LOSSES; loss++)
      lost += ring->closed ? ring->end.lost[loss] : ring_lost_count(&ring->reader, loss);
  }
  atomic_store_explicit(&self->live->lost, lost, memory_order_relaxed);
  atomic_store_explicit(&self->live->processes, writing, memory_order_relaxed);
}

/* Returns how many processes may still write. */
static uint32_t take_rings(record_rings *self) {
  uint32_t writing = 0;
  const uint32_t count = record_session_count(self->session);
  for (uint32_t i = 0; i < count; i++) {
    record_ring *ring = &self->all[i];
    record_taking user = {self, ring};
    if (!open_ring(self, ring)) continue;
    /* Asked first: what comes between the two is taken by the draining. */
    const bool over = ring_has_ended(&ring->reader) || !ring_writer_lives(&ring->reader);
    if (!ring->pid) ring->pid = ring->reader.pid ? ring->reader.pid : slot_of(self, ring)->pid;
    (void)ring_drain(&ring->reader, take, &user);
    if (ring->host) record_host_flush(ring->host);
    if (over)
      end_capture(self, ring);
    else
      writing++;
  }
  return writing;
}

uint32_t record_rings_drain(record_rings *self) {
  for (uint32_t i = 0; i < record_session_count(self->session); i++)
    forget_old(self, &self->all[i], pd_clock_ns(CLOCK_REALTIME));
  const uint32_t writing = take_rings(self);
  show_state(self, writing);
  return writing;
}

/* False: it cannot be written, which `fault` tells. */
static bool write_last(record_rings *self, record_ring *ring, const char *folder, int64_t now_ns) {
  capture_program_end end = ring->closed ? ring->end : end_now(self, ring);
  if (!record_last_any(&ring->last)) return true;
  if (!make_capture(self, ring, folder)) return false;
  for (uint32_t i = 0; i < RING_LOSSES; i++) end.lost[i] -= ring->before[0].lost[i];
  end.torn -= ring->before[0].torn;
  record_last_tell(&ring->last, ring->pid, self->last_ns, now_ns);
  const uint64_t rows = record_last_write(&ring->last, &ring->writer, now_ns - self->last_ns);
  close_capture(self, ring, &end);
  if (rows && !ring->writer.fault) return true;
  (void)unlink(ring->path);
  free(ring->path);
  ring->path = NULL;
  return !ring->writer.fault;
}

bool record_rings_write_last(record_rings *self, const char *folder) {
  const int64_t now_ns = pd_clock_ns(CLOCK_REALTIME);
  bool all = true;
  for (uint32_t i = 0; i < record_session_count(self->session); i++) {
    if (!write_last(self, &self->all[i], folder, now_ns)) {
      log_line(PD_LOG_WARN, NULL, "%s: the last seconds of process %u cannot be written: %s", folder, self->all[i].pid,
               strerror(self->fault));
      all = false;
    }
    self->fault = 0;        /* what is kept stays for a later time */
    (void)take_rings(self); /* so that none of them is full meanwhile */
  }
  return all;
}

void record_rings_outlive(record_rings *self) {
  for (uint32_t i = 0; i < record_session_count(self->session); i++) {
    record_ring *ring = &self->all[i];
    if (ring->open && !ring->closed && !ring_has_ended(&ring->reader) && ring_writer_lives(&ring->reader))
      ring->outlives = true;
  }
}

void record_rings_end(record_rings *self) {
  for (uint32_t i = 0; i < record_session_count(self->session); i++) {
    record_ring *ring = &self->all[i];
    if (!ring->open || ring->closed) continue;
    ring->outlives = true;
    end_capture(self, ring);
  }
}

bool record_rings_begun(const record_rings *self) {
  for (uint32_t i = 0; i < record_session_count(self->session); i++)
    if (self->all[i].works) return true;
  return false;
}

uint64_t record_rings_steps(const record_rings *self) {
  uint64_t fewest = UINT64_MAX;
  const uint32_t count = record_session_count(self->session);
  for (uint32_t i = 0; i < count; i++) {
    const record_steps *steps = &self->all[i].steps;
    const uint64_t complete = record_steps_count(steps);
    if ((steps->marks || steps->ranges) && complete < fewest) fewest = complete;
  }
  return fewest == UINT64_MAX ? 0 : fewest;
}

void record_rings_close(record_rings *self) {
  for (uint32_t i = 0; self->all && i < RECORD_SLOTS; i++) {
    record_host_close(self->all[i].host);
    ring_close(&self->all[i].reader);
    (void)capture_close(&self->all[i].writer, false);
    free(self->all[i].path);
    free(self->all[i].threads);
    record_steps_free(&self->all[i].steps);
    record_last_free(&self->all[i].last);
  }
  free(self->all);
  self->all = NULL;
}
