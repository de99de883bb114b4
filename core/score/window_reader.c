/* See window_reader.h. */
#include "window_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Times beyond this (104 days) are no run's, and sums of them stay within 64 bits. */
#define TIME_LIMIT (INT64_C(1) << 53)

typedef struct bytes_left {
  const char *at;
  size_t left;
} bytes_left;

static bool take(bytes_left *from, void *to, size_t bytes) {
  if (from->left < bytes) return false;
  memcpy(to, from->at, bytes);
  from->at += bytes;
  from->left -= bytes;
  return true;
}

/* ---- sections ---- */

static const uint32_t row_bytes[PD_WINDOW_SECTION_END] = {
#define PD_X(name, value, row) [value] = sizeof(row),
    PD_WINDOW_MAP(PD_X)
#undef PD_X
};

static pd_array *array_of(pd_trace *trace, uint32_t id) {
  switch (id) {
  case PD_WINDOW_THREADS: return &trace->threads;
  case PD_WINDOW_STREAMS: return &trace->streams;
  case PD_WINDOW_RANGES: return &trace->ranges;
  case PD_WINDOW_CALLS: return &trace->calls;
  case PD_WINDOW_ACTIVITIES: return &trace->activities;
  case PD_WINDOW_ACTIVITIES_BY_CALL: return &trace->activities_by_call;
  case PD_WINDOW_OTHERS: return &trace->others;
  case PD_WINDOW_MEMORY: return &trace->memory;
  case PD_WINDOW_COUNTERS: return &trace->counters;
  case PD_WINDOW_STEPS: return &trace->steps;
  case PD_WINDOW_SHAPES: return &trace->shapes;
  case PD_WINDOW_LOSS_ROWS: return &trace->loss_rows;
  case PD_WINDOW_STATES: return &trace->states;
  case PD_WINDOW_CHILDREN: return &trace->children;
  case PD_WINDOW_CODE: return &trace->code;
  default: return NULL;
  }
}

static const char *take_section(bytes_left *from, window_file *out, uint64_t *counts) {
  pd_window_section head;
  if (!take(from, &head, sizeof head)) return "it ends within a section's head";
  if (!head.id || head.id >= PD_WINDOW_SECTION_END || out->blocks[head.id])
    return "a section is unknown or there twice";
  const size_t bytes = row_bytes[head.id];
  if (head.stride > bytes) return "its rows are larger: a later version of pdhost wrote it";
  if (2 * (size_t)head.stride < bytes || !head.stride) return "its rows are too small";
  if (head.count > from->left / head.stride || head.count > UINT32_MAX - 1) return "it ends within a section";
  char *block = calloc((size_t)head.count + 1, bytes);
  out->blocks[head.id] = block;
  if (!block) return "out of memory";
  if (head.stride == bytes) {
    (void)take(from, block, bytes * (size_t)head.count);
  } else {
    for (uint64_t i = 0; i < head.count; i++) (void)take(from, block + i * bytes, head.stride);
  }
  counts[head.id] = head.count;
  return NULL;
}

/* Where each text begins; false unless there are `least` to `count` of them: the others are empty. */
static bool divide(const char *text, uint64_t bytes, const char **starts, uint64_t least, uint64_t count) {
  const char *end = text + bytes;
  for (uint64_t i = 0; i < count; i++) {
    if (text == end && i >= least) {
      starts[i] = "";
      continue;
    }
    const char *zero = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
    if (!zero) return false;
    starts[i] = text;
    text = zero + 1;
  }
  return text == end;
}

static const char *make_strings(window_file *out, uint64_t bytes) {
  const char *block = out->blocks[PD_WINDOW_STRINGS];
  uint64_t count = 0;
  for (uint64_t i = 0; i < bytes; i++) count += !block[i];
  if (!count || block[bytes - 1] || block[0]) return "its strings do not begin with the empty one, or have no end";
  out->strings = calloc(count, sizeof *out->strings);
  if (!out->strings) return "out of memory";
  for (uint64_t i = 0; i < count; i++) {
    out->strings[i] = (pd_string){block, strlen(block)};
    block += out->strings[i].length + 1;
  }
  out->trace.strings = (pd_array){out->strings, count, sizeof *out->strings};
  return NULL;
}

/* The lines of the window's text, as the scenario had them. */
static const char *take_cures(window_file *out) {
  uint32_t count = 0;
  char *rest = NULL;
  out->cure_text = strdup(out->texts[PD_WINDOW_TEXT_CURES]);
  if (!out->cure_text) return "out of memory";
  char *line = strtok_r(out->cure_text, "\n", &rest);
  for (; line && count < WINDOW_CURES; line = strtok_r(NULL, "\n", &rest)) {
    char *space = strchr(line, ' ');
    if (!space) continue;
    *space = '\0';
    out->cures[count++] = (pd_cure){line, space + 1};
  }
  return NULL;
}

static const char *assemble(window_file *out, const uint64_t *counts) {
  static const uint32_t single[] = {PD_WINDOW_TRACE, PD_WINDOW_DEVICE, PD_WINDOW_RUN};
  for (uint32_t id = 1; id < PD_WINDOW_LOSS_ROWS; id++) /* what came later may be missing */
    if (!out->blocks[id]) return "a section is missing";
  for (size_t i = 0; i < sizeof single / sizeof single[0]; i++)
    if (counts[single[i]] != 1) return "trace, device and run have one row each";
  memcpy(&out->trace, out->blocks[PD_WINDOW_TRACE], sizeof out->trace);
  memcpy(&out->device, out->blocks[PD_WINDOW_DEVICE], sizeof out->device);
  memcpy(&out->run, out->blocks[PD_WINDOW_RUN], sizeof out->run);
  for (uint32_t id = 1; id < PD_WINDOW_SECTION_END; id++) {
    pd_array *array = array_of(&out->trace, id);
    if (array) *array = (pd_array){out->blocks[id], counts[id], row_bytes[id]};
  }
  if (!divide(out->blocks[PD_WINDOW_TEXTS], counts[PD_WINDOW_TEXTS], out->texts, PD_WINDOW_TEXT_CURES,
              PD_WINDOW_TEXT_COUNT))
    return "its texts are not complete";
  out->trace.size = sizeof out->trace;
  out->trace.stacks = (pd_array){NULL, 0, sizeof(pd_stack)};
  out->trace.device = &out->device;
  out->trace.profile_note = out->texts[PD_WINDOW_TEXT_PROFILE_NOTE][0] ? out->texts[PD_WINDOW_TEXT_PROFILE_NOTE] : NULL;
  out->trace.steps_note = out->trace.steps_found = NULL;
  out->trace.origin = out->texts[PD_WINDOW_TEXT_ORIGIN];
  out->device.size = sizeof out->device;
  out->device.name = out->texts[PD_WINDOW_TEXT_DEVICE];
  out->device.versions = out->texts[PD_WINDOW_TEXT_DEVICE_VERSIONS];
  const char *wrong = take_cures(out);
  return wrong ? wrong : make_strings(out, counts[PD_WINDOW_STRINGS]);
}

/* ---- checks ---- */

static bool within(uint32_t index, const pd_array *rows) { return index < rows->count; }
static bool within_or_none(uint32_t index, const pd_array *rows) { return index == PD_NONE || within(index, rows); }
static bool is_time(int64_t ns) { return ns > -TIME_LIMIT && ns < TIME_LIMIT; }
static bool is_span(int64_t start, int64_t end) { return is_time(start) && is_time(end); }

static bool holds(uint64_t first, uint64_t count, const pd_array *rows) {
  return first <= rows->count && count <= rows->count - first;
}

/* In the order of trace.h, within its parent, and no deeper than one below it. */
static bool range_is_right(const pd_trace *t, pd_range *row, uint64_t i) {
  const pd_range *before = i ? PD_AT(pd_range, &t->ranges, i - 1) : NULL;
  row->stack = PD_NONE;
  if (!is_span(row->start_ns, row->end_ns) || row->start_ns > row->end_ns || !within(row->name, &t->strings) ||
      !within(row->module, &t->strings) || !within(row->thread, &t->threads) || !within_or_none(row->step, &t->steps) ||
      !holds(row->shape_first, row->shape_count, &t->shapes))
    return false;
  if (before && (before->thread > row->thread || (before->thread == row->thread && before->start_ns > row->start_ns)))
    return false;
  if (row->parent == PD_NONE) return row->depth == 0;
  if (row->parent >= i) return false;
  const pd_range *parent = PD_AT(pd_range, &t->ranges, row->parent);
  return parent->thread == row->thread && row->depth == parent->depth + 1 && parent->end_ns >= row->end_ns;
}

static bool ranges_are_right(window_file *self) {
  pd_range *rows = self->blocks[PD_WINDOW_RANGES];
  for (uint64_t i = 0; i < self->trace.ranges.count; i++)
    if (!range_is_right(&self->trace, &rows[i], i)) return false;
  return true;
}

static bool calls_are_right(const pd_trace *t) {
  int64_t last = -TIME_LIMIT;
  for (uint64_t i = 0; i < t->calls.count; i++) {
    const pd_call *row = PD_AT(pd_call, &t->calls, i);
    if (!is_span(row->start_ns, row->end_ns) || row->start_ns < last || !within(row->name, &t->strings) ||
        !within(row->thread, &t->threads) || !within_or_none(row->range, &t->ranges) ||
        !within_or_none(row->step, &t->steps) ||
        !holds(row->activity_first, row->activity_count, &t->activities_by_call))
      return false;
    last = row->start_ns;
  }
  return true;
}

static bool activities_are_right(const pd_trace *t) {
  int64_t last = -TIME_LIMIT;
  for (uint64_t i = 0; i < t->activities.count; i++) {
    const pd_device_row *row = PD_AT(pd_device_row, &t->activities, i);
    if (!is_span(row->start_ns, row->end_ns) || row->start_ns < last || !within(row->name, &t->strings) ||
        !within(row->stream, &t->streams) || !within_or_none(row->call, &t->calls) ||
        !within_or_none(row->range, &t->ranges) || !within_or_none(row->step, &t->steps))
      return false;
    last = row->start_ns;
  }
  for (uint64_t i = 0; i < t->activities_by_call.count; i++)
    if (!within(*PD_AT(uint32_t, &t->activities_by_call, i), &t->activities)) return false;
  return true;
}

static bool memory_is_right(const pd_trace *t) {
  int64_t last = -TIME_LIMIT;
  for (uint64_t i = 0; i < t->memory.count; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &t->memory, i);
    if (!is_time(row->ts_ns) || row->ts_ns < last || !is_time(row->event.bytes) || row->event.device_type > 1 ||
        !within(row->thread, &t->threads) || !within_or_none(row->range, &t->ranges) ||
        !within_or_none(row->step, &t->steps))
      return false;
    last = row->ts_ns;
  }
  return true;
}

static bool others_are_right(const pd_trace *t) {
  for (uint64_t i = 0; i < t->others.count; i++) {
    const pd_other_row *row = PD_AT(pd_other_row, &t->others, i);
    if (!is_span(row->start_ns, row->end_ns) || !within(row->name, &t->strings) ||
        !within_or_none(row->thread, &t->threads) || !within_or_none(row->stream, &t->streams))
      return false;
  }
  for (uint64_t i = 0; i < t->counters.count; i++) {
    const pd_counter_row *row = PD_AT(pd_counter_row, &t->counters, i);
    if (!is_time(row->ts_ns) || !within(row->name, &t->strings)) return false;
  }
  for (uint64_t i = 0; i < t->loss_rows.count; i++) {
    const pd_loss_row *row = PD_AT(pd_loss_row, &t->loss_rows, i);
    if (!is_span(row->start_ns, row->end_ns) || row->loss >= PD_LOSS_COUNT || !within_or_none(row->thread, &t->threads))
      return false;
  }
  for (uint64_t i = 0; i < t->threads.count; i++)
    if (!within(PD_AT(pd_thread, &t->threads, i)->name, &t->strings)) return false;
  for (uint64_t i = 0; i < t->streams.count; i++)
    if (!within(PD_AT(pd_stream_row, &t->streams, i)->name, &t->strings)) return false;
  return true;
}

static bool steps_are_right(const pd_trace *t) {
  int64_t last = -TIME_LIMIT;
  for (uint64_t i = 0; i < t->steps.count; i++) {
    const pd_trace_step *row = PD_AT(pd_trace_step, &t->steps, i);
    if (!is_span(row->start_ns, row->end_ns) || !is_span(row->train_start_ns, row->train_end_ns) ||
        !is_span(row->data_wait_ns, row->step_time_ns) || row->start_ns < last || row->end_ns < row->start_ns)
      return false;
    last = row->end_ns;
  }
  return is_span(t->start_ns, t->end_ns);
}

/* In the order of trace.h. */
static bool host_is_right(const pd_trace *t) {
  for (uint64_t i = 0; i < t->states.count; i++) {
    const pd_state_row *row = PD_AT(pd_state_row, &t->states, i), *before = i ? row - 1 : NULL;
    if (!is_span(row->start_ns, row->end_ns) || row->end_ns < row->start_ns || !within(row->thread, &t->threads) ||
        !within(row->name, &t->strings) || row->state < PD_HOST_RUNS || row->state > PD_HOST_BLOCKED)
      return false;
    if (before && (before->thread > row->thread || (before->thread == row->thread && before->end_ns > row->start_ns)))
      return false;
  }
  for (uint64_t i = 0; i < t->children.count; i++) {
    const pd_child_row *row = PD_AT(pd_child_row, &t->children, i);
    if (!is_time(row->ts_ns) || !within(row->name, &t->strings)) return false;
  }
  for (uint64_t i = 0; i < t->code.count; i++) {
    const pd_code_row *row = PD_AT(pd_code_row, &t->code, i), *before = i ? row - 1 : NULL;
    if (!is_time(row->ts_ns) || !within(row->thread, &t->threads) || !within(row->place, &t->strings)) return false;
    if (before && (before->thread > row->thread || (before->thread == row->thread && before->ts_ns > row->ts_ns)))
      return false;
  }
  return true;
}

static const char *check(window_file *self) {
  const pd_trace *t = &self->trace;
  if (!ranges_are_right(self)) return "a range's row is wrong";
  if (!calls_are_right(t)) return "a call's row is wrong";
  if (!activities_are_right(t)) return "a device record's row is wrong";
  if (!memory_is_right(t)) return "a memory event's row is wrong";
  if (!steps_are_right(t)) return "a step's row is wrong";
  if (!host_is_right(t)) return "a row of what the host did is wrong";
  if (!others_are_right(t)) return "a thread's, stream's, overhead's, counter's or loss's row is wrong";
  return NULL;
}

/* ---- the file ---- */

bool window_file_take(const char *path, const void *data, size_t bytes, window_file *out, error *err) {
  bytes_left from = {data, bytes};
  pd_window_head head;
  uint64_t counts[PD_WINDOW_SECTION_END] = {0};
  const char *wrong = NULL;
  *out = (window_file){0};
  if (!take(&from, &head, sizeof head) || memcmp(head.magic, PD_WINDOW_MAGIC, sizeof head.magic) != 0)
    wrong = "not a file of the window sink";
  else if (head.format != PD_WINDOW_FORMAT)
    wrong = "another version of pdhost wrote it";
  for (uint32_t i = 0; !wrong && i < head.sections; i++) wrong = take_section(&from, out, counts);
  if (!wrong && from.left) wrong = "there is something after its last section";
  if (!wrong) wrong = assemble(out, counts);
  if (!wrong) wrong = check(out);
  if (!wrong) return true;
  error_set(err, PD_INVALID, CODE_CONFIG, "%s: %s; run it again", path, wrong);
  window_file_close(out);
  return false;
}

bool window_file_read(const char *path, window_file *out, error *err) {
  struct stat about;
  FILE *file = fopen(path, "rb");
  char *data = NULL;
  *out = (window_file){0};
  if (!file || fstat(fileno(file), &about) != 0) {
    error_set(err, PD_IO, CODE_CONFIG, "%s: %s", path, strerror(errno));
    if (file) fclose(file);
    return false;
  }
  const size_t bytes = (size_t)about.st_size;
  data = malloc(bytes + 1);
  const bool whole = data && fread(data, 1, bytes, file) == bytes;
  fclose(file);
  if (!whole) error_set(err, PD_IO, CODE_CONFIG, "%s: cannot be read whole", path);
  const bool ok = whole && window_file_take(path, data, bytes, out, err);
  free(data);
  return ok;
}

void window_file_close(window_file *self) {
  for (uint32_t id = 0; id < PD_WINDOW_SECTION_END; id++) free(self->blocks[id]);
  free(self->strings);
  free(self->cure_text);
  *self = (window_file){0};
}
