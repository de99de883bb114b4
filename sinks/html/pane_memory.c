/* The curve of memory, one for each device and kind; see panes.h. */
#include "panes.h"

#include <pdhost/array.h>
#include <pdhost/quantity.h>

#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 1000, HEIGHT = 180, LEFT = 70, BELOW = 18, CURVES_MOST = 8 };

typedef struct curve {
  uint32_t type, device;
  uint64_t peak_bytes, allocated, reserved; /* the last two: as of now */
  int64_t peak_ns;
  uint64_t columns[WIDTH], reserved_columns[WIDTH]; /* the most within each */
  uint32_t filled;                                  /* columns that are done */
} curve;

typedef struct curves {
  curve *all;
  uint32_t count, room;
  int64_t from_ns, to_ns;
} curves;

static uint32_t column_of(const curves *self, int64_t at_ns) {
  if (at_ns <= self->from_ns) return 0;
  const double place = (double)(at_ns - self->from_ns) / (double)(self->to_ns - self->from_ns) * WIDTH;
  return place < WIDTH - 1 ? (uint32_t)place : WIDTH - 1;
}

static curve *curve_of(curves *self, const pd_memory_event *event) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->all[i].type == event->device_type && self->all[i].device == event->device) return &self->all[i];
  if (self->count == CURVES_MOST || !PD_ARRAY_FIT(self->all, self->room, self->count + 1)) return NULL;
  self->all[self->count] = (curve){.type = event->device_type, .device = event->device};
  return &self->all[self->count++];
}

/* Up to and with `column` there is what there is now, at least. */
static void fill(curve *self, uint32_t column) {
  for (; self->filled <= column; self->filled++) {
    self->columns[self->filled] = self->allocated;
    self->reserved_columns[self->filled] = self->reserved;
  }
}

static void note_most(curve *self, uint32_t column) {
  if (self->allocated > self->columns[column]) self->columns[column] = self->allocated;
  if (self->reserved > self->reserved_columns[column]) self->reserved_columns[column] = self->reserved;
}

static bool gather(curves *self, const pd_trace *trace) {
  for (uint64_t i = 0; i < trace->memory.count; i++) {
    const pd_memory_row *row = PD_AT(pd_memory_row, &trace->memory, i);
    curve *of = curve_of(self, &row->event);
    if (!of && self->count < CURVES_MOST) return false;
    if (!of) continue;
    const uint32_t column = column_of(self, row->ts_ns);
    if (!of->filled) /* before its first event there was what that event changed */
      of->allocated = row->event.bytes > 0 && row->event.total_allocated >= (uint64_t)row->event.bytes
                          ? row->event.total_allocated - (uint64_t)row->event.bytes
                          : row->event.total_allocated + (uint64_t)(row->event.bytes < 0 ? -row->event.bytes : 0);
    fill(of, column);
    of->allocated = row->event.total_allocated;
    of->reserved = row->event.total_reserved;
    note_most(of, column);
    if (of->allocated <= of->peak_bytes) continue;
    of->peak_bytes = of->allocated;
    of->peak_ns = row->ts_ns;
  }
  for (uint32_t i = 0; i < self->count; i++) fill(&self->all[i], WIDTH - 1);
  return true;
}

static double height_of(uint64_t bytes, uint64_t most) { return HEIGHT - (double)bytes / (double)most * (HEIGHT - 12); }

static void path(text_out *page, const uint64_t *columns, uint64_t most, bool closed) {
  uint64_t last = UINT64_MAX;
  page_numbers(page, "M%d %.1f", LEFT, closed ? (double)HEIGHT : height_of(columns[0], most));
  for (uint32_t i = 0; i < WIDTH; i++) {
    if (columns[i] == last) continue;
    page_numbers(page, "H%uV%.1f", LEFT + i, height_of(columns[i], most));
    last = columns[i];
  }
  page_numbers(page, "H%d", LEFT + WIDTH);
  if (closed) page_numbers(page, "V%dz", HEIGHT);
}

static void axis(text_out *page, uint64_t most) {
  for (uint32_t i = 0; i <= 2; i++) {
    char size[64];
    const uint64_t bytes = most / 2 * i;
    pd_text_bytes(size, sizeof size, (double)bytes);
    page_numbers(page, "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>", LEFT, LEFT + WIDTH,
                 height_of(bytes, most), height_of(bytes, most));
    page_numbers(page, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 6, height_of(bytes, most) + 4);
    page_around(page, "", size, "</text>");
  }
}

static void steps(text_out *page, const curves *self, const pd_trace *trace) {
  const uint64_t every = trace->steps.count / 20 + 1;
  for (uint64_t i = 0; i < trace->steps.count; i += every) {
    const pd_trace_step *step = PD_AT(pd_trace_step, &trace->steps, i);
    const uint32_t x = LEFT + column_of(self, step->start_ns);
    page_numbers(page, "<line class=\"grid\" x1=\"%u\" x2=\"%u\" y1=\"0\" y2=\"%d\"/>", x, x, HEIGHT + 4);
    page_numbers(page, "<text x=\"%u\" y=\"%d\">%llu</text>", x + 2, HEIGHT + BELOW - 4,
                 (unsigned long long)step->number);
  }
}

/* The step that runs at `at_ns`, or NULL. */
static const pd_trace_step *step_at(const pd_trace *trace, int64_t at_ns) {
  for (uint64_t i = 0; i < trace->steps.count; i++) {
    const pd_trace_step *step = PD_AT(pd_trace_step, &trace->steps, i);
    if (at_ns >= step->start_ns && at_ns < step->end_ns) return step;
  }
  return NULL;
}

static void one(text_out *page, const curves *self, const curve *of, const pd_trace *trace) {
  char peak[64], at[64];
  uint64_t most = of->peak_bytes;
  for (uint32_t i = 0; i < WIDTH; i++) most = of->reserved_columns[i] > most ? of->reserved_columns[i] : most;
  if (!most) return;
  pd_text_bytes(peak, sizeof peak, (double)of->peak_bytes);
  pd_text_time(at, sizeof at, (double)(of->peak_ns - trace->start_ns));
  page_markup(page, "<section class=\"card\"><h3>");
  if (of->type)
    page_format(page, "Memory of device %u", of->device);
  else
    page_markup(page, "Memory of the host that the allocators know");
  page_around(page, "</h3>\n<p>Most is allocated ", at, " after the window began");
  const pd_trace_step *step = step_at(trace, of->peak_ns);
  if (step) page_format(page, ", in step %llu", (unsigned long long)step->number);
  page_around(page, ": ", peak, ". The tables below say who holds it. Steps are named below the curve.</p>\n");
  page_numbers(page, "<div class=\"scroll\"><svg class=\"memory\" role=\"img\" viewBox=\"0 0 %d %d\" aria-label=\"",
               LEFT + WIDTH + 4, HEIGHT + BELOW);
  page_around(page, "Allocated and reserved memory over time, ", peak, " at most\">\n");
  axis(page, most);
  steps(page, self, trace);
  page_markup(page, "<path class=\"allocated\" d=\"");
  path(page, of->columns, most, true);
  page_markup(page, "\"><title>allocated</title></path>\n<path class=\"reserved\" d=\"");
  path(page, of->reserved_columns, most, false);
  page_markup(page, "\"><title>reserved</title></path>\n");
  page_numbers(page, "<circle class=\"peak\" r=\"4\" cx=\"%u\" cy=\"%.1f\"/>", LEFT + column_of(self, of->peak_ns),
               height_of(of->peak_bytes, most));
  page_markup(page, "</svg></div>\n<ul class=\"legend\"><li><span class=\"key k-allocated\"></span>allocated</li>"
                    "<li><span class=\"key k-reserved\"></span>reserved from the system</li></ul></section>\n");
}

bool pane_memory(text_out *page, const pane_window *window) {
  const pd_trace *trace = window->trace;
  curves self = {.from_ns = trace->start_ns, .to_ns = trace->end_ns};
  if (trace->end_ns <= trace->start_ns || !trace->memory.count) return true;
  const bool ok = gather(&self, trace);
  for (uint32_t i = 0; ok && i < self.count; i++) one(page, &self, &self.all[i], trace);
  free(self.all);
  return ok;
}
