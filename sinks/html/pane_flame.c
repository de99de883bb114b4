/* Stacks as a flame graph, the outermost frame at the top; see panes.h. */
#include "panes.h"

#include <pdhost/array.h>
#include <pdhost/quantity.h>

#include <stdlib.h>
#include <string.h>

enum { WIDTH = 1140, ROW = 17, DEPTH_MOST = 64, COLOURS = 6, FRAMES_MOST = 4000 };
/* Pixels: what is narrower is not drawn; what is narrower has no name in it; of a letter. */
#define LEAST 0.7
#define NAMED 36
#define LETTER 6.4

typedef struct frame {
  const char *name; /* not ended */
  size_t length;
  double value_us;      /* with what it calls */
  uint32_t first, next; /* called first; called beside it; 0: none */
} frame;

typedef struct flame {
  frame *frames; /* the first is all of them */
  uint32_t count, room, drawn, deepest;
} flame;

/* The frame that `parent` calls by this name; 0 on no memory. */
static uint32_t called(flame *self, uint32_t parent, const char *name, size_t length) {
  uint32_t last = 0;
  for (uint32_t at = self->frames[parent].first; at; at = self->frames[at].next) {
    if (self->frames[at].length == length && !memcmp(self->frames[at].name, name, length)) return at;
    last = at;
  }
  if (!PD_ARRAY_FIT(self->frames, self->room, self->count + 1)) return 0;
  self->frames[self->count] = (frame){.name = name, .length = length};
  if (last)
    self->frames[last].next = self->count;
  else
    self->frames[parent].first = self->count;
  return self->count++;
}

static bool add_stack(flame *self, const char *stack, double value_us) {
  uint32_t at = 0;
  self->frames[0].value_us += value_us;
  for (uint32_t depth = 0; *stack && depth < DEPTH_MOST; depth++) {
    const size_t length = strcspn(stack, ";");
    at = called(self, at, stack, length);
    if (!at) return false;
    self->frames[at].value_us += value_us;
    stack += length + (stack[length] == ';');
  }
  return true;
}

/* Rows come with the longest first, and a frame's calls in that order. */
static bool gather(flame *self, const pd_table *table) {
  if (!PD_ARRAY_FIT(self->frames, self->room, 1)) return false;
  self->frames[0] = (frame){.name = "all", .length = 3};
  self->count = 1;
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const pd_table_row *row = PD_AT(pd_table_row, &table->rows, i);
    if (!add_stack(self, page_string(table, row, "stack"), page_figure(table, row, "value_us"))) return false;
  }
  return true;
}

static uint32_t colour_of(const frame *of) {
  uint32_t hash = 5381;
  for (size_t i = 0; i < of->length; i++) hash = hash * 33 + (unsigned char)of->name[i];
  return hash % COLOURS;
}

/* At most `bytes` of a name; a letter is not cut in two. */
static void name(text_out *page, const frame *of, size_t bytes) {
  char text[512];
  if (bytes > of->length) bytes = of->length;
  if (bytes >= sizeof text) bytes = sizeof text - 1;
  while (bytes < of->length && bytes && ((unsigned char)of->name[bytes] & 0xC0) == 0x80) bytes--;
  memcpy(text, of->name, bytes);
  text[bytes] = '\0';
  page_text(page, text);
}

static void draw_frame(text_out *page, const flame *self, uint32_t at, double x, uint32_t depth) {
  const frame *of = &self->frames[at];
  const double whole_us = self->frames[0].value_us, width = of->value_us / whole_us * WIDTH;
  char time[64];
  pd_text_time(time, sizeof time, of->value_us * 1e3);
  page_numbers(page, "<g data-x=\"%.2f\" data-w=\"%.2f\"><title>", x, width);
  name(page, of, of->length);
  page_around(page, ": ", time, "");
  page_format(page, ", %.1f %%", 100 * of->value_us / whole_us);
  page_numbers(page, "</title><rect class=\"f%u\" x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\"/>", colour_of(of), x,
               depth * ROW, width > 1 ? width - 0.5 : width, ROW - 1);
  page_numbers(page, "<text x=\"%.2f\" y=\"%u\">", x + 3, depth * ROW + 12);
  if (width >= NAMED) name(page, of, (size_t)((width - 6) / LETTER));
  page_markup(page, "</text></g>\n");
}

typedef struct place {
  uint32_t frame, depth;
  double x;
} place;

/* The frames in an order that needs no recursion: a frame, then those that it calls, each with its place. */
static bool draw(text_out *page, flame *self) {
  place *open = NULL;
  uint32_t count = 0, room = 0;
  bool ok = PD_ARRAY_FIT(open, room, 1);
  if (ok) open[count++] = (place){.frame = 0};
  while (ok && count && self->drawn < FRAMES_MOST) {
    const place at = open[--count];
    draw_frame(page, self, at.frame, at.x, at.depth);
    self->drawn++;
    double x = at.x;
    for (uint32_t inner = self->frames[at.frame].first; ok && inner; inner = self->frames[inner].next) {
      const double width = self->frames[inner].value_us / self->frames[0].value_us * WIDTH;
      if (width >= LEAST) {
        ok = PD_ARRAY_FIT(open, room, count + 1);
        if (ok) open[count++] = (place){.frame = inner, .depth = at.depth + 1, .x = x};
      }
      x += width;
    }
  }
  free(open);
  return ok;
}

static uint32_t depth_of(const flame *self, const pd_table *table) {
  uint32_t deepest = 0;
  for (uint64_t i = 0; i < table->rows.count; i++) {
    const pd_table_row *row = PD_AT(pd_table_row, &table->rows, i);
    uint32_t depth = 1;
    if (page_figure(table, row, "value_us") / self->frames[0].value_us * WIDTH < LEAST) continue;
    for (const char *at = page_string(table, row, "stack"); *at; at++) depth += *at == ';';
    if (depth > deepest) deepest = depth;
  }
  return deepest < DEPTH_MOST ? deepest : DEPTH_MOST;
}

bool pane_flame(text_out *page, const pane_window *window, const char *id) {
  const pd_table *table = page_table(window->set, id);
  flame self = {.frames = NULL};
  if (!table || !table->rows.count) return true;
  bool ok = gather(&self, table);
  if (ok && self.frames[0].value_us > 0) {
    page_around(page, "<section class=\"card\"><h3>", table->title, "</h3>\n");
    page_markup(page,
                "<p>Each frame is as wide as its time, with that of what it calls below it. Click one to widen it; "
                "click the top one to go back.</p>\n<div class=\"scroll\"><svg class=\"flame\" role=\"img\" ");
    page_numbers(page, "width=\"%d\" height=\"%u\" aria-label=\"", WIDTH, (depth_of(&self, table) + 1) * ROW);
    page_around(page, "", table->title, ", as a flame graph; the table below has the figures\">\n");
    ok = draw(page, &self);
    page_markup(page, "</svg></div></section>\n");
  }
  free(self.frames);
  return ok;
}
