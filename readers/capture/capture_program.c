/* The capture of a program, as `pdhost record` writes it. Nothing in the file is believed: rows of another size or kind
 * are left out. */
#include "capture_files.h"

#include "program_captures.h"
#include "program_host.h"
#include "program_marks.h"
#include "program_modules.h"
#include "program_names.h"
#include "program_spans.h"
#include "program_tail.h"

#include "capture/record_board.h"

#include <pdhost/array.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The recorder flushes at least this often. */
#define LAST_FLUSH_NS INT64_C(400000000)

struct captured_program {
  capture_file *from;
  const pd_intake *intake;
  program_stretch stretch; /* that is read */
  uint64_t works;          /* rows of calls and device records in it */
  program_names names;
  uint32_t pid, last_tid, last_thread;
  uint64_t strange; /* rows that cannot be */
  program_marks marks;
  program_modules modules;
  pd_facts facts;
  record_gpu *gpus;
  pd_device_props *devices;
  uint32_t gpu_count, gpu_room;
  bool captures_any;
  program_captures captures;
  program_tail tail;
  spans spans;
  bool has_end, failed;
};

void capture_program_free(captured_program *self) {
  if (!self) return;
  program_names_free(&self->names);
  free(self->gpus);
  program_marks_free(&self->marks);
  program_modules_free(&self->modules);
  free(self->devices);
  program_captures_free(&self->captures);
  program_tail_free(&self->tail);
  spans_free(&self->spans);
  free(self);
}

/* ---- records ---- */

/* The record's payload, in self->from->room. False: it cannot be read. */
static bool payload(const captured_program *self, const capture_record *at) {
  return capture_payload(&self->from->records, at, self->from->room) == PD_OK;
}

static void read_strings(captured_program *self, const capture_record *at) {
  const char *text = self->from->room;
  for (uint32_t place = 0; at->bytes - place >= sizeof(capture_string);) {
    capture_string row;
    memcpy(&row, text + place, sizeof row);
    place += (uint32_t)sizeof row;
    if (row.bytes > at->bytes - place) return;
    const program_name name = {.id = row.id,
                               .name = self->intake->intern(self->intake, text + place, row.bytes),
                               .module = program_modules_name(self->intake, text + place, row.bytes),
                               .bound = program_captures_name(text + place, row.bytes)};
    self->failed |= !program_names_add(&self->names, name);
    self->captures_any |= name.bound == PROGRAM_CAPTURE_BEGINS;
    const uint32_t padded = (row.bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
    if (padded > at->bytes - place) return;
    place += padded;
  }
}

static void read_gpus(captured_program *self, const capture_record *at) {
  const uint32_t count = at->bytes / (uint32_t)sizeof(record_gpu);
  if (!PD_ARRAY_FIT(self->gpus, self->gpu_room, self->gpu_count + count)) return; /* what they are is not known then */
  memcpy(self->gpus + self->gpu_count, self->from->room, count * sizeof *self->gpus);
  self->gpu_count += count;
}

static uint32_t thread_of(captured_program *self, uint32_t tid) {
  if (!tid) return PD_NONE;
  if (tid != self->last_tid) {
    self->last_tid = tid;
    self->last_thread = self->intake->thread(self->intake, self->pid, tid);
  }
  return self->last_thread;
}

static void leave_captured(const captured_program *self, pd_activity *call) {
  if (self->captures_any && program_captures_has(&self->captures, call->correlation)) call->u.api.api = PD_API_OTHER;
}

/* They are read last, for each stretch from the whole file. */
static void tell_progress(const captured_program *self, const capture_record *at) {
  const program_stretches *stretches = &self->from->stretches;
  const uint64_t bytes = self->from->records.bytes, before = (stretches->next - 1) * bytes;
  self->intake->progress(self->intake, (before + at->at + at->bytes) / (stretches->count + 1), bytes);
}

static void read_activities(captured_program *self, const capture_record *at) {
  const pd_activity *rows = self->from->room;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows; i++) {
    pd_activity row = rows[i];
    const bool is_call = pd_activity_is_call(&row);
    if (row.kind < PD_ACTIVITY_RUNTIME || row.kind > PD_ACTIVITY_OVERHEAD || row.end < row.start || row.start <= 0 ||
        (is_call && (!row.thread || row.u.api.api > PD_API_STREAM_WAIT))) {
      self->strange++;
      continue;
    }
    if (!program_stretch_has(&self->stretch, row.start) || !program_tail_has(&self->tail, &row)) continue;
    if (is_call) leave_captured(self, &row);
    row.name = program_names_at(&self->names, row.name).name;
    row.thread = is_call || row.kind == PD_ACTIVITY_OVERHEAD ? thread_of(self, row.thread) : PD_NONE;
    self->intake->activity(self->intake, &row);
  }
  tell_progress(self, at);
}

static void read_thread_names(captured_program *self, const capture_record *at) {
  const capture_thread_name *rows = self->from->room;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows; i++) {
    const size_t bytes = strnlen(rows[i].name, sizeof rows[i].name);
    if (!rows[i].tid || !bytes) continue;
    self->intake->name_thread(self->intake, thread_of(self, rows[i].tid),
                              self->intake->intern(self->intake, rows[i].name, bytes));
  }
}

static void read_annotations(captured_program *self, const capture_record *at) {
  const capture_annotation *rows = self->from->room;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows; i++) {
    const capture_annotation *row = &rows[i];
    if (row->start_ns <= 0 || row->end_ns < row->start_ns || !at->thread) {
      self->strange++;
      continue;
    }
    if (row->start_ns < self->stretch.from_ns || row->end_ns >= self->tail.cut_ns) continue;
    const program_name name = program_names_at(&self->names, row->name);
    pd_read_range range = {.start_ns = row->start_ns,
                           .end_ns = row->end_ns,
                           .name = name.name,
                           .kind = PD_RANGE_USER,
                           .thread = thread_of(self, at->thread)};
    const uint32_t domain = program_names_at(&self->names, row->domain).name;
    if (program_marks_take(&self->marks, domain, &range)) self->facts |= PD_FACT_INPUT;
    program_modules_take(&self->modules, name.module, domain, at->thread, &range);
    if (row->end_ns > row->start_ns) self->intake->range(self->intake, &range);
  }
}

static void read_spans(captured_program *self, const capture_record *at) {
  self->strange += program_spans_add(&self->spans, self->from->room, at->bytes / (uint32_t)sizeof(capture_annotation),
                                     self->stretch.from_ns, self->tail.cut_ns, &self->names);
}

/* `by_end`: those of the whole recording until the stretch's end. */
static void give_losses(const captured_program *self, const uint64_t *by_end) {
  for (uint32_t loss = 0; loss < PD_LOSS_COUNT; loss++) {
    const uint64_t before = self->stretch.lost ? self->stretch.lost[loss] : 0;
    if (by_end[loss] > before) self->intake->lost(self->intake, loss, by_end[loss] - before);
  }
}

static void read_end(captured_program *self, const capture_record *at) {
  capture_program_end end;
  if (at->bytes != sizeof end) return;
  memcpy(&end, self->from->room, sizeof end);
  give_losses(self, end.lost);
  if (end.torn)
    self->intake->odd(self->intake, PD_ODD_DAMAGE, end.torn,
                      "the program overwrote what was recorded at %llu places; it is left out",
                      (unsigned long long)end.torn);
}

static void find_module_ends(captured_program *self, const capture_record *at) {
  program_modules_calls(&self->modules, self->from->room, at->bytes / (uint32_t)sizeof(pd_activity), self->tail.cut_ns);
}

/* Strings and GPUs first: rows name them. */
static void read_kind(captured_program *self, uint32_t kind, uint32_t row_bytes,
                      void (*read)(captured_program *, const capture_record *)) {
  for (uint64_t i = 0; i < self->from->records.count; i++) {
    const capture_record *at = &self->from->records.records[i];
    if (at->kind != kind || at->row_bytes != row_bytes || at->bytes % row_bytes != 0) continue;
    if (payload(self, at)) read(self, at);
  }
}

static void find_end(captured_program *self, const capture_record *at) {
  capture_program_end end;
  if (at->bytes != sizeof end) return;
  memcpy(&end, self->from->room, sizeof end);
  self->has_end = true;
  self->tail.whole_until_ns = end.whole_until_ns < 0 ? 0 : end.whole_until_ns;
}

static void add_to_tail(captured_program *self, const capture_record *at) {
  const pd_activity *rows = self->from->room;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows && !self->failed; i++) {
    pd_activity row = rows[i];
    if (!program_stretch_has(&self->stretch, row.start)) continue;
    if (pd_activity_is_call(&row)) leave_captured(self, &row);
    self->failed = program_tail_add(&self->tail, &row) != PD_OK;
  }
}

static void find_bounds(captured_program *self, const capture_record *at) {
  const pd_activity *rows = self->from->room;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows && !self->failed; i++) {
    const bool is_call = pd_activity_is_call(&rows[i]);
    const uint32_t bound = is_call ? program_names_at(&self->names, rows[i].name).bound : 0;
    if (bound)
      self->failed = program_captures_bound(&self->captures, &rows[i], bound == PROGRAM_CAPTURE_BEGINS) != PD_OK;
  }
}

static void find_launches(captured_program *self, const capture_record *at) {
  const pd_activity *rows = self->from->room;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows && !self->failed; i++)
    self->failed = program_captures_launch(&self->captures, &rows[i]) != PD_OK;
}

static void find_answers(captured_program *self, const capture_record *at) {
  const pd_activity *rows = self->from->room;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows; i++) program_captures_answer(&self->captures, &rows[i]);
}

/* A program that captures nothing is not read once more for it. */
static pd_status find_captures(captured_program *self) {
  if (!self->captures_any) return PD_OK;
  read_kind(self, CAPTURE_ACTIVITIES, sizeof(pd_activity), find_bounds);
  if (self->failed) return PD_NO_MEMORY;
  if (!program_captures_sort(&self->captures)) return PD_OK;
  read_kind(self, CAPTURE_ACTIVITIES, sizeof(pd_activity), find_launches);
  if (self->failed) return PD_NO_MEMORY;
  program_captures_answers(&self->captures);
  read_kind(self, CAPTURE_ACTIVITIES, sizeof(pd_activity), find_answers);
  return PD_OK;
}

/* Without an end pdhost itself was killed: the last flush is then as old as one can be. */
static pd_status find_tail(captured_program *self) {
  self->tail.whole_until_ns = INT64_MAX;
  read_kind(self, CAPTURE_PROGRAM_END, sizeof(capture_program_end), find_end);
  if (!self->has_end) {
    read_kind(self, CAPTURE_ACTIVITIES, sizeof(pd_activity), add_to_tail);
    self->tail.whole_until_ns = self->tail.last_ns - LAST_FLUSH_NS;
  }
  if (self->stretch.until_ns < self->tail.whole_until_ns) self->tail.whole_until_ns = self->stretch.until_ns;
  if (self->tail.whole_until_ns != INT64_MAX) /* else nothing is cut, and the rows need be read only once */
    read_kind(self, CAPTURE_ACTIVITIES, sizeof(pd_activity), add_to_tail);
  if (self->failed) return PD_NO_MEMORY;
  program_tail_cut(&self->tail);
  if (self->tail.cut_ns < self->tail.last_ns)
    self->intake->odd(self->intake, PD_ODD_NOTE, 1,
                      "of its last %.0f ms not all was taken when the recording %s; they are left out",
                      (double)(self->tail.last_ns - self->tail.cut_ns) * 1e-6,
                      self->stretch.until_ns == INT64_MAX ? "ended" : "was paused");
  return PD_OK;
}

static void tell_source(captured_program *self, const capture_program *about) {
  char versions[64] = "", worker[300];
  const uint32_t driver = self->gpu_count ? self->gpus[0].props.driver_version : 0;
  self->devices = calloc((size_t)self->gpu_count + 1, sizeof *self->devices);
  for (uint32_t i = 0; self->devices && i < self->gpu_count; i++) {
    self->gpus[i].name[sizeof self->gpus[i].name - 1] = '\0';
    self->devices[i] = self->gpus[i].props;
    self->devices[i].size = sizeof self->devices[i];
    self->devices[i].name = self->gpus[i].name;
    self->devices[i].versions = NULL;
    self->devices[i].cupti_version = about->cupti_version;
  }
  if (driver)
    (void)snprintf(versions, sizeof versions, "CUDA %u.%u, CUPTI %u", driver / 1000, driver % 1000 / 10,
                   about->cupti_version);
  else if (about->cupti_version)
    (void)snprintf(versions, sizeof versions, "CUPTI %u", about->cupti_version);
  (void)snprintf(worker, sizeof worker, "%u", about->pid);
  const pd_source source = {.size = sizeof source,
                            .pid = about->pid,
                            .facts = self->facts | PD_FACT_CALLS | PD_FACT_LOSSES,
                            .worker = worker,
                            .versions = versions[0] ? versions : NULL,
                            .rank = (uint32_t)about->rank,
                            .ranks = about->ranks > 1 ? (uint32_t)about->ranks : 0,
                            .device_count = self->devices ? self->gpu_count : 0,
                            .devices = self->devices,
                            .paused_ns = self->stretch.paused_ns};
  self->intake->source(self->intake, &source);
}

static bool find_program(const captured_program *self, capture_program *out) {
  for (uint64_t i = 0; i < self->from->records.count; i++) {
    const capture_record *at = &self->from->records.records[i];
    if (at->kind != CAPTURE_PROGRAM || at->bytes != sizeof *out || !payload(self, at)) continue;
    memcpy(out, self->from->room, sizeof *out);
    return true;
  }
  return false;
}

static pd_status read_all(captured_program *self, const pd_intake *intake) {
  capture_program about;
  if (!find_program(self, &about))
    return self->from->host->fail(self->from->host, PD_INVALID, "it does not say which program it is of");
  self->pid = about.pid;
  program_marks_open(&self->marks, intake);
  program_modules_open(&self->modules, intake);
  read_kind(self, CAPTURE_STRINGS, 1, read_strings);
  if (self->failed) return PD_NO_MEMORY;
  program_names_sort(&self->names);
  pd_status status = find_captures(self);
  if (status == PD_OK) status = find_tail(self);
  if (status != PD_OK) return status;
  read_kind(self, CAPTURE_GPUS, sizeof(record_gpu), read_gpus);
  read_kind(self, CAPTURE_THREAD_NAMES, sizeof(capture_thread_name), read_thread_names);
  read_kind(self, CAPTURE_ANNOTATIONS, sizeof(capture_annotation), read_annotations);
  read_kind(self, CAPTURE_SPANS, sizeof(capture_annotation), read_spans);
  if (self->modules.has_backward) read_kind(self, CAPTURE_ACTIVITIES, sizeof(pd_activity), find_module_ends);
  status = program_modules_give(&self->modules, intake, self->pid);
  if (status == PD_OK) status = spans_give(&self->spans, intake, self->pid);
  if (status != PD_OK) return status;
  self->from->step_number = program_marks_give(&self->marks, intake, self->from->step_number);
  program_host host = {intake, self->pid, self->stretch.from_ns, self->tail.cut_ns, &self->names, 0, 0};
  program_host_read(&host, &self->from->records, self->from->room);
  self->strange += host.strange;
  self->facts |= host.facts;
  tell_source(self, &about);
  read_kind(self, CAPTURE_ACTIVITIES, sizeof(pd_activity), read_activities);
  if (self->stretch.lost_by_end) {
    give_losses(self, self->stretch.lost_by_end);
    return PD_OK;
  }
  read_kind(self, CAPTURE_PROGRAM_END, sizeof(capture_program_end), read_end);
  if (self->strange)
    intake->odd(intake, PD_ODD_DAMAGE, self->strange, "%llu rows cannot be and are left out",
                (unsigned long long)self->strange);
  capture_tell_torn(self->from, intake);
  if (self->has_end) return PD_OK;
  intake->place(intake, self->from->records.bytes);
  intake->odd(intake, PD_ODD_DAMAGE, 1, "its end is missing: pdhost was ended while it recorded");
  return PD_OK;
}

/* A row that begins at 0 has no time in the file: read_activities leaves it out. */
static void count_works(captured_program *self, const capture_record *at) {
  const pd_activity *rows = self->from->room;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows; i++)
    self->works += rows[i].start > 0 && program_stretch_has(&self->stretch, rows[i].start);
}

static void read_pauses(captured_program *self, const capture_record *at) {
  program_stretches *all = &self->from->stretches;
  if (!program_stretches_add(all, self->from->room, at->bytes / (uint32_t)sizeof(capture_pause), &self->strange))
    self->failed = true;
}

/* What was read of the stretch before is the caller's by now. */
static pd_status begin_stretch(capture_file *self, const pd_intake *intake) {
  capture_program_free(self->program);
  self->program = calloc(1, sizeof *self->program);
  if (!self->program) return PD_NO_MEMORY;
  self->program->from = self;
  self->program->intake = intake;
  if (!self->stretches.is_read) {
    read_kind(self->program, CAPTURE_PAUSES, sizeof(capture_pause), read_pauses);
    program_stretches_sort(&self->stretches);
  }
  self->program->stretch = program_stretches_at(&self->stretches, self->stretches.next++);
  return self->program->failed ? PD_NO_MEMORY : PD_OK;
}

/* Between pauses: one in which nothing was launched is no window. A pause before all windows is none. */
pd_status capture_program_next(capture_file *self, const pd_intake *intake) {
  while (!self->stretches.is_read || self->stretches.next <= self->stretches.count) {
    if (begin_stretch(self, intake) != PD_OK) return PD_NO_MEMORY;
    captured_program *program = self->program;
    if (self->stretches.count) read_kind(program, CAPTURE_ACTIVITIES, sizeof(pd_activity), count_works);
    self->paused_ns += self->program_given ? program->stretch.paused_ns : 0;
    if (self->stretches.count && !program->works) continue;
    program->stretch.paused_ns = self->paused_ns;
    self->paused_ns = 0;
    self->program_given = true;
    return read_all(program, intake);
  }
  return PD_STOP;
}
