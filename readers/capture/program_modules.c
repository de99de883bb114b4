/* See program_modules.h. */
#include "program_modules.h"

#include "capture/record_board.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

void program_modules_open(program_modules *self, const pd_intake *intake) {
  self->domain = intake->intern(intake, RECORD_MODULE_DOMAIN, strlen(RECORD_MODULE_DOMAIN));
}

uint32_t program_modules_name(const pd_intake *intake, const char *text, uint32_t bytes) {
  static const char *const begins[] = {RECORD_MODULE_FORWARD, RECORD_MODULE_BACKWARD};
  for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
    const uint32_t length = (uint32_t)strlen(begins[i]);
    if (bytes > length && memcmp(text, begins[i], length) == 0)
      return intake->intern(intake, text + length, bytes - length);
  }
  return 0;
}

static void add(program_modules *self, module_moment moment) {
  if (PD_ARRAY_FIT(self->all, self->room, self->count + 1))
    self->all[self->count++] = moment;
  else
    self->failed = true;
}

void program_modules_take(program_modules *self, uint32_t module, uint32_t domain, uint32_t tid, pd_read_range *range) {
  const bool is_moment = range->end_ns == range->start_ns;
  if (domain != self->domain) return;
  if (!is_moment) range->module = module;
  self->has_backward |= is_moment && module;
  add(self, (module_moment){.ns = range->start_ns,
                            .end_ns = range->start_ns,
                            .tid = tid,
                            .name = range->name,
                            .module = is_moment ? module : 0});
}

static int by_thread_and_time(const void *a, const void *b) {
  const module_moment *x = a, *y = b;
  if (x->tid != y->tid) return x->tid < y->tid ? -1 : 1;
  return (x->ns > y->ns) - (x->ns < y->ns);
}

/* The last moment of the thread that is not behind `ns`; NULL: there is none. */
static module_moment *moment_at(const program_modules *self, uint32_t tid, int64_t ns) {
  uint32_t low = 0, high = self->count;
  while (low < high) {
    const uint32_t middle = low + (high - low) / 2;
    const module_moment *at = &self->all[middle];
    if (at->tid < tid || (at->tid == tid && at->ns <= ns))
      low = middle + 1;
    else
      high = middle;
  }
  return low && self->all[low - 1].tid == tid ? &self->all[low - 1] : NULL;
}

void program_modules_calls(program_modules *self, const pd_activity *rows, uint32_t count, int64_t cut_ns) {
  if (!self->is_sorted && self->count) qsort(self->all, self->count, sizeof *self->all, by_thread_and_time);
  self->is_sorted = true;
  for (uint32_t i = 0; i < count; i++) {
    const pd_activity *row = &rows[i];
    const bool is_call = row->kind == PD_ACTIVITY_RUNTIME || row->kind == PD_ACTIVITY_DRIVER;
    if (!is_call || row->start <= 0 || row->start >= cut_ns) continue;
    module_moment *at = moment_at(self, row->thread, row->start);
    if (!at || !at->module || row->end <= at->end_ns) continue;
    const module_moment *next = at + 1;
    const bool has_next = next < self->all + self->count && next->tid == at->tid && next->ns < row->end;
    at->end_ns = has_next ? next->ns : row->end;
  }
}

pd_status program_modules_give(const program_modules *self, const pd_intake *intake, uint32_t pid) {
  for (uint32_t i = 0; i < self->count; i++) {
    const module_moment *at = &self->all[i];
    const pd_read_range range = {.start_ns = at->ns,
                                 .end_ns = at->end_ns,
                                 .name = at->name,
                                 .kind = PD_RANGE_USER,
                                 .thread = intake->thread(intake, pid, at->tid),
                                 .backward = 1,
                                 .module = at->module};
    if (at->module && at->end_ns > at->ns) intake->range(intake, &range);
  }
  return self->failed ? PD_NO_MEMORY : PD_OK;
}

void program_modules_free(program_modules *self) { free(self->all); }
