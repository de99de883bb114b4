/* Calls and NVTX ranges. See nsys_reader.h. */
#include "nsys_reader.h"

#include <pdhost/array.h>

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- calls ---- */

static void keep_call(nsys_reader *self, const pd_activity *call) {
  if (!PD_ARRAY_FIT(self->calls, self->call_room, self->call_count + 1) ||
      !PD_ARRAY_FIT_ZERO(self->launches, self->thread_room, (uint64_t)call->thread + 1)) {
    self->no_memory = true;
    return;
  }
  self->calls[self->call_count++] = (nsys_call){.start = call->start, .end = call->end};
  self->kernel_launches += call->u.api.api == PD_API_LAUNCH && call->u.api.result == 0;
  self->launches[call->thread] += call->u.api.api >= PD_API_LAUNCH && call->u.api.api <= PD_API_GRAPH_LAUNCH;
}

static int by_start(const void *a, const void *b) {
  const nsys_call *first = a, *second = b;
  return (first->start > second->start) - (first->start < second->start);
}

void nsys_read_calls(nsys_reader *self) {
  enum { START, END, CLASS, TID, CORRELATION, NAME, RESULT };
  enum { CLASS_DRIVER = 1 };
  nsys_rows rows;
  if (!nsys_open_rows(self, &rows, "CUPTI_ACTIVITY_KIND_RUNTIME",
                      "start end eventClass globalTid correlationId nameId returnValue", "globalTid"))
    return;
  nsys_tell_lacking(self, "CUPTI_ACTIVITY_KIND_RUNTIME", "start end correlationId nameId");
  while (nsys_rows_next(&rows) && !self->no_memory) {
    const nsys_name *name = nsys_name_of(self, &rows, NAME);
    pd_activity call;
    memset(&call, 0, sizeof call);
    if (!name || !nsys_has(&rows, START) || !nsys_has(&rows, END)) continue;
    const int64_t number = nsys_integer(&rows, CORRELATION);
    call.kind = nsys_integer(&rows, CLASS) == CLASS_DRIVER ? PD_ACTIVITY_DRIVER : PD_ACTIVITY_RUNTIME;
    call.name = name->id;
    call.start = nsys_integer(&rows, START);
    call.end = nsys_integer(&rows, END);
    call.correlation = number > 0 ? (uint64_t)number : 0;
    call.thread = nsys_thread_of(self, nsys_integer(&rows, TID));
    call.u.api.api = name->api;
    call.u.api.result = (int32_t)nsys_integer(&rows, RESULT);
    keep_call(self, &call);
    self->intake->activity(self->intake, &call);
  }
  if (rows.read) self->facts |= PD_FACT_CALLS;
  nsys_close_rows(self, &rows);
  if (self->call_count) qsort(self->calls, self->call_count, sizeof *self->calls, by_start);
  for (uint64_t i = 0; i < self->call_count; i++) {
    self->calls[i].latest = self->calls[i].end;
    if (i && self->calls[i - 1].latest > self->calls[i].latest) self->calls[i].latest = self->calls[i - 1].latest;
  }
}

/* ---- ranges ---- */

/* torch.autograd.profiler.emit_nvtx writes "aten::add, seq = 7, sizes = [...], op_id = 12": the name ends at the first
 * of these. */
static size_t operation_length(const char *text, uint32_t *sequence) {
  static const char *const marks[] = {", seq = ", ", op_id = ", ", sizes = ", ", input_op_ids = "};
  size_t length = strlen(text);
  *sequence = 0;
  for (size_t i = 0; i < sizeof marks / sizeof marks[0]; i++) {
    const char *found = strstr(text, marks[i]);
    if (!found) continue;
    if (i == 0) *sequence = (uint32_t)strtoul(found + strlen(marks[0]), NULL, 10);
    if ((size_t)(found - text) < length) length = (size_t)(found - text);
  }
  return length;
}

/* "step 12", "Iteration #3", "train_step_7": the number, or -1 where the name is no such mark. */
static int64_t step_number(const char *text) {
  static const char *const words[] = {"training", "train", "iteration", "iter", "step"};
  bool named = false;
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
    const size_t length = strlen(words[i]);
    if (strncasecmp(text, words[i], length) != 0) continue;
    text += length;
    text += strspn(text, " _-#:=");
    named = named || i >= 2;
  }
  if (!named || !isdigit((unsigned char)*text)) return -1;
  char *end;
  const long long number = strtoll(text, &end, 10);
  return *end ? -1 : number;
}

static void take_role(nsys_reader *self, const char *text, size_t length, pd_read_range *range) {
  const char *hash = memchr(text, '#', length);
  int64_t number = step_number(text);
  switch (range_role_of_name(text, length)) {
  case RANGE_ROLE_STEP: number = hash ? strtoll(hash + 1, NULL, 10) : 0; break;
  case RANGE_ROLE_INPUT:
    range->kind = PD_RANGE_DATALOADER;
    range->part = PD_PART_DATALOADER;
    self->facts |= PD_FACT_INPUT;
    return;
  case RANGE_ROLE_OPTIMIZER: range->part = PD_PART_OPTIMIZATION; return;
  case RANGE_ROLE_BACKWARD: range->part = PD_PART_BACKWARD; break;
  default: break;
  }
  if (number < 0) return;
  range->kind = PD_RANGE_STEP;
  self->intake->step(self->intake, range->thread, (uint64_t)number, range->start_ns, range->end_ns);
}

static void take_range(nsys_reader *self, const char *text, pd_read_range *range) {
  const size_t whole = strlen(text), length = operation_length(text, &range->sequence);
  range->name = self->intake->intern(self->intake, text, length);
  range->kind = length < whole || strncmp(text, "aten::", 6) == 0 ? PD_RANGE_OP : PD_RANGE_USER;
  take_role(self, text, length, range);
  if (range->kind == PD_RANGE_OP) self->facts |= PD_FACT_OPERATIONS;
  range->backward = range->sequence && range->part == PD_PART_BACKWARD;
  self->intake->range(self->intake, range);
}

/* It may wait for no thread's input and be no thread's operation, so all that is known of it is its name. Steps by
 * their names may overlap here: --step takes them. */
static void take_span(nsys_reader *self, const char *text, const pd_read_range *range) {
  uint32_t sequence;
  const uint32_t name = self->intake->intern(self->intake, text, operation_length(text, &sequence));
  if (!spans_add(&self->spans, range->start_ns, range->end_ns, name)) self->no_memory = true;
}

/* ENUM_NSYS_EVENT_TYPE. Ranges that are started and ended by hand may cross one another, and end on other threads. */
enum { NVTX_PUSH_POP = 59, NVTX_START_END = 60, NVTXT_PUSH_POP = 70, NVTXT_START_END = 71 };

void nsys_read_ranges(nsys_reader *self) {
  enum { START, END, TYPE, TEXT, TID, TEXT_ID };
  nsys_rows rows;
  sqlite3_stmt *texts = NULL;
  if (!nsys_open_rows(self, &rows, "NVTX_EVENTS", "start end eventType text globalTid textId", "globalTid")) return;
  (void)sqlite3_prepare_v2(self->file, "SELECT value FROM StringIds WHERE id = ?1", -1, &texts, NULL);
  while (nsys_rows_next(&rows) && !self->no_memory) {
    const int64_t type = nsys_integer(&rows, TYPE);
    const bool is_span = type == NVTX_START_END || type == NVTXT_START_END;
    if (!is_span && type != NVTX_PUSH_POP && type != NVTXT_PUSH_POP) continue;
    if (!nsys_has(&rows, START) || !nsys_has(&rows, END)) {
      self->unended++;
      continue;
    }
    pd_read_range range = {.start_ns = nsys_integer(&rows, START), .end_ns = nsys_integer(&rows, END)};
    const char *text = nsys_text(&rows, TEXT);
    if (!*text && texts && nsys_has(&rows, TEXT_ID) &&
        sqlite3_bind_int64(texts, 1, nsys_integer(&rows, TEXT_ID)) == SQLITE_OK && sqlite3_step(texts) == SQLITE_ROW) {
      const unsigned char *value = sqlite3_column_text(texts, 0);
      text = value ? (const char *)value : "";
    }
    if (is_span) {
      take_span(self, text, &range);
    } else {
      range.thread = nsys_thread_of(self, nsys_integer(&rows, TID));
      take_range(self, text, &range);
    }
    if (texts) (void)sqlite3_reset(texts);
  }
  sqlite3_finalize(texts);
  nsys_close_rows(self, &rows);
  if (self->unended)
    self->intake->odd(self->intake, PD_ODD_NOTE, self->unended,
                      "%llu NVTX ranges were open when the recording ended and are left out",
                      (unsigned long long)self->unended);
  if (spans_give(&self->spans, self->intake, self->process < 0 ? 0 : (uint32_t)self->process & 0xFFFFFF) != PD_OK)
    self->no_memory = true;
}
