/* The steps as bars; see panes.h. */
#include "panes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HEIGHT = 150, STEPS_DRAWN = 2000, STEP_WIDTH = 10, LEAST_WIDTH = 3, WIDTH = 1120 };
/* A step this many times the median is marked as slow. */
#define SLOW 1.2

typedef struct step_chart {
  const pd_table *table;
  const char *prefix; /* of the keys of the parts: "ledger_" */
  uint32_t span;      /* the column of the whole */
  uint64_t count;
  double longest_ns, median_ns, width;
} step_chart;

static double figure(const step_chart *self, uint64_t row, uint32_t column) {
  double value = 0;
  const pd_cell *cell = &PD_AT(pd_table_row, &self->table->rows, row)->cells[column];
  return page_number(self->table->columns[column], cell, &value) ? value : 0;
}

static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* False: there is nothing to draw. */
static bool measure(step_chart *self) {
  self->count = self->table ? self->table->rows.count : 0;
  if (self->count > STEPS_DRAWN) self->count = STEPS_DRAWN;
  self->span = self->table ? page_column(self->table, "step_span") : PD_NONE;
  if (!self->count || self->span == PD_NONE) return false;
  double *spans = malloc(self->count * sizeof *spans);
  if (!spans) return false;
  for (uint64_t i = 0; i < self->count; i++) spans[i] = figure(self, i, self->span);
  qsort(spans, self->count, sizeof *spans, by_value);
  self->longest_ns = spans[self->count - 1];
  self->median_ns = (spans[(self->count - 1) / 2] + spans[self->count / 2]) / 2;
  free(spans);
  self->width = (double)WIDTH / (double)self->count;
  if (self->width > 4 * STEP_WIDTH) self->width = 4 * STEP_WIDTH;
  if (self->width < LEAST_WIDTH) self->width = LEAST_WIDTH;
  return self->longest_ns > 0;
}

static bool is_slow(const step_chart *self, uint64_t i) { return figure(self, i, self->span) > SLOW * self->median_ns; }

static bool is_part(const step_chart *self, uint32_t column) {
  const char *key = self->table->columns[column]->key;
  static const char *const others[] = {"step_span", "step_start", "step_time"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (!strcmp(key, others[i])) return false;
  return !strncmp(key, self->prefix, strlen(self->prefix));
}

static double below(const step_chart *self, uint64_t row, uint32_t column) {
  double sum = 0;
  for (uint32_t c = 0; c < column; c++)
    if (is_part(self, c)) sum += figure(self, row, c);
  return sum / self->longest_ns * HEIGHT;
}

/* One path of all steps' pieces of a column. False: there are none. */
static bool part(text_out *page, const step_chart *self, uint32_t column) {
  bool any = false;
  for (uint64_t i = 0; i < self->count; i++) {
    const double height = figure(self, i, column) / self->longest_ns * HEIGHT;
    if (height < 0.05) continue;
    if (!any) {
      page_around(page, "<path class=\"k-", self->table->columns[column]->key + strlen(self->prefix), "\" d=\"");
    }
    any = true;
    page_format(page, "M%.1f %.2fh%.1fv-%.2fh-%.1fz", (double)i * self->width, HEIGHT - below(self, i, column),
                self->width * 0.85, height, self->width * 0.85);
  }
  if (any) page_around(page, "\"><title>", self->table->columns[column]->heading, "</title></path>\n");
  return any;
}

static void legend(text_out *page, const step_chart *self, const bool *drawn) {
  page_markup(page, "<ul class=\"legend\">\n");
  for (uint32_t c = 0; c < self->table->column_count; c++) {
    if (!drawn[c]) continue;
    page_around(page, "<li><span class=\"key k-", self->table->columns[c]->key + strlen(self->prefix), "\"></span>");
    page_around(page, "", self->table->columns[c]->heading, "</li>\n");
  }
  page_markup(page, "</ul>\n");
}

static void slow_marks(text_out *page, const step_chart *self) {
  for (uint64_t i = 0; i < self->count; i++) {
    if (!is_slow(self, i)) continue;
    page_markup(page, "<path class=\"slow\" d=\"");
    page_format(page, "M%.1f 3l4 7h-8z", ((double)i + 0.425) * self->width);
    page_markup(page, "\"><title>slow</title></path>\n");
  }
}

/* Said in words, too: the picture is not for everybody. */
static void words(text_out *page, const step_chart *self) {
  uint64_t slow = 0, named = 0;
  for (uint64_t i = 0; i < self->count; i++) slow += is_slow(self, i);
  const pd_cell longest = {.v = {.i = (int64_t)self->longest_ns}}, median = {.v = {.i = (int64_t)self->median_ns}};
  page_markup(page, "<p>The median step takes ");
  page_cell(page, self->table->columns[self->span], &median);
  page_markup(page, ", the longest ");
  page_cell(page, self->table->columns[self->span], &longest);
  page_format(page, ". Slow, more than %.1f times the median: %llu of %llu", SLOW, (unsigned long long)slow,
              (unsigned long long)self->count);
  const uint32_t number = page_column(self->table, "step");
  for (uint64_t i = 0; i < self->count && named < 8 && number != PD_NONE; i++) {
    if (!is_slow(self, i)) continue;
    page_format(page, "%s%.0f", named++ ? ", " : ": step ", figure(self, i, number));
  }
  page_format(page, "%s.", slow > named && named ? " and more" : "");
  if (self->table->rows.count > self->count)
    page_format(page, " The first %d of %llu steps are drawn.", STEPS_DRAWN,
                (unsigned long long)self->table->rows.count);
  page_markup(page, "</p>\n");
}

static void chart(text_out *page, const pane_window *window, const char *id, const char *prefix, const char *title) {
  step_chart self = {.table = page_table(window->set, id), .prefix = prefix};
  bool drawn[64] = {false};
  if (!measure(&self)) return;
  page_around(page, "<section class=\"card\"><h3>", title, "</h3>\n");
  words(page, &self);
  page_markup(page, "<div class=\"scroll\"><svg class=\"steps\" role=\"img\" data-steps=\"");
  page_numbers(page, "%llu\" data-step-width=\"%.4f\" data-window=\"%u\"", (unsigned long long)self.count, self.width,
               window->trace->window);
  page_around(page, " aria-label=\"", title, ", the table below has the figures\" width=\"");
  page_numbers(page, "%.0f\" height=\"%d\">\n", (double)self.count * self.width, HEIGHT);
  for (uint32_t c = 0; c < self.table->column_count && c < sizeof drawn; c++)
    if (is_part(&self, c)) drawn[c] = part(page, &self, c);
  slow_marks(page, &self);
  page_markup(page, "</svg></div>\n");
  legend(page, &self, drawn);
  page_markup(page, "</section>\n");
}

void pane_steps(text_out *page, const pane_window *window) {
  chart(page, window, "active_steps", "step_", "Each step, by what is busy");
  chart(page, window, "ledger_steps", "ledger_", "Each step, by what the device's time went to");
}
