/* See program_host.h. Nothing in the file is believed. */
#include "program_host.h"

#include "capture/format.h"

#include <string.h>

static void take_states(program_host *self, const capture_record *at, const void *payload) {
  const capture_state *rows = payload;
  const uint32_t thread = at->thread ? self->intake->thread(self->intake, self->pid, at->thread) : PD_NONE;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows; i++) {
    const capture_state *row = &rows[i];
    if (row->start_ns <= 0 || row->end_ns < row->start_ns || thread == PD_NONE || row->state < PD_HOST_RUNS ||
        row->state > PD_HOST_BLOCKED) {
      self->strange++;
      continue;
    }
    if (row->start_ns >= self->cut_ns || row->end_ns <= self->from_ns) continue;
    const pd_state_row out = {
        .start_ns = row->start_ns > self->from_ns ? row->start_ns : self->from_ns,
        .end_ns = row->end_ns < self->cut_ns ? row->end_ns : self->cut_ns,
        .process_ns = row->process_ns < 0 ? -1 : row->process_ns,
        .thread = thread,
        .name = self->intake->intern(self->intake, row->detail, strnlen(row->detail, sizeof row->detail)),
        .state = row->state};
    self->intake->state(self->intake, &out);
    self->facts |= PD_FACT_STATES;
  }
}

static void take_children(program_host *self, const capture_record *at, const void *payload) {
  const capture_child *rows = payload;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows; i++) {
    const capture_child *row = &rows[i];
    if (row->ns <= 0 || !row->pid) {
      self->strange++;
      continue;
    }
    if (row->ns >= self->cut_ns || row->ns < self->from_ns) continue;
    const pd_child_row out = {.ts_ns = row->ns,
                              .cpu_ns = row->cpu_ns < 0 ? -1 : row->cpu_ns,
                              .disk_bytes = row->disk_bytes < 0 ? -1 : row->disk_bytes,
                              .read_bytes = row->read_bytes < 0 ? -1 : row->read_bytes,
                              .pid = row->pid,
                              .name =
                                  self->intake->intern(self->intake, row->name, strnlen(row->name, sizeof row->name))};
    self->intake->child(self->intake, &out);
    self->facts |= PD_FACT_CHILDREN;
  }
}

static void take_code(program_host *self, const capture_record *at, const void *payload) {
  const capture_code *rows = payload;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows; i++) {
    const capture_code *row = &rows[i];
    if (row->ns <= 0 || !row->thread) {
      self->strange++;
      continue;
    }
    if (row->ns >= self->cut_ns || row->ns < self->from_ns) continue;
    const pd_code_row out = {.ts_ns = row->ns,
                             .thread = self->intake->thread(self->intake, self->pid, row->thread),
                             .place = program_names_at(self->names, row->place).name};
    self->intake->code(self->intake, &out);
    self->facts |= PD_FACT_CODE;
  }
}

static void take_places(program_host *self, const capture_record *at, const void *payload) {
  const capture_place *rows = payload;
  const uint32_t thread = at->thread ? self->intake->thread(self->intake, self->pid, at->thread) : PD_NONE;
  for (uint32_t i = 0; i < at->bytes / sizeof *rows; i++) {
    const capture_place *row = &rows[i];
    const size_t bytes = strnlen(row->text, sizeof row->text);
    if (row->ns <= 0 || thread == PD_NONE || !bytes) {
      self->strange++;
      continue;
    }
    if (row->ns >= self->cut_ns || row->ns < self->from_ns) continue;
    const pd_code_row out = {
        .ts_ns = row->ns, .thread = thread, .place = self->intake->intern(self->intake, row->text, bytes)};
    self->intake->code(self->intake, &out);
    self->facts |= PD_FACT_CODE;
  }
}

void program_host_read(program_host *self, const capture_reader *records, void *room) {
  static const struct {
    uint32_t kind, row_bytes;
    void (*take)(program_host *, const capture_record *, const void *);
  } kinds[] = {{CAPTURE_STATES, sizeof(capture_state), take_states},
               {CAPTURE_CHILDREN, sizeof(capture_child), take_children},
               {CAPTURE_CODE, sizeof(capture_code), take_code},
               {CAPTURE_PLACES, sizeof(capture_place), take_places}};
  for (uint64_t i = 0; i < records->count; i++) {
    const capture_record *at = &records->records[i];
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
      if (at->kind == kinds[k].kind && at->row_bytes == kinds[k].row_bytes && at->bytes % at->row_bytes == 0 &&
          capture_payload(records, at, room) == PD_OK)
        kinds[k].take(self, at, room);
  }
}
