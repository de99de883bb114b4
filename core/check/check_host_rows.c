/* See check_host_rows.h. */
#include "check_host_rows.h"

#include "trace/sort.h"

#include <pdhost/quantity.h>

#include <stdlib.h>

/* A range or a call. */
typedef struct span {
  int64_t start, end;
  uint64_t byte;
  uint32_t name, thread;
} span;

static bool span_after(const void *rows, uint32_t a, uint32_t b) {
  const span *first = (const span *)rows + a, *second = (const span *)rows + b;
  if (first->thread != second->thread) return first->thread > second->thread;
  if (first->start != second->start) return first->start > second->start;
  return first->end < second->end;
}

static bool is_negative(const check_rows *rows, const span *at, check_findings *findings) {
  char text[32];
  if (at->end >= at->start) return false;
  const double by = (double)(at->start - at->end);
  if (finding_add(findings, CHECK_NEGATIVE_TIME, by, at->byte)) {
    pd_text_time(text, sizeof text, by);
    finding_say(findings, CHECK_NEGATIVE_TIME, "\"%s\" ends %s before it begins", check_rows_name(rows, at->name),
                text);
  }
  return true;
}

/* Calls of our own windows have a clock of their own, which the recorder fits to that of the ranges. */
static uint64_t collect(const check_rows *rows, span *out, check_findings *findings) {
  const check_range *ranges = rows->ranges.data;
  const check_call *calls = rows->calls.data;
  uint64_t count = 0;
  for (uint64_t i = 0; i < rows->ranges.count; i++) {
    out[count] = (span){ranges[i].start, ranges[i].end, ranges[i].byte, ranges[i].name, ranges[i].thread};
    count += !is_negative(rows, &out[count], findings);
  }
  for (uint64_t i = 0; i < rows->calls.count; i++) {
    out[count] = (span){calls[i].start, calls[i].end, calls[i].byte, calls[i].name, calls[i].thread};
    count += !is_negative(rows, &out[count], findings) && !rows->is_merged;
  }
  return count;
}

static void report(const check_rows *rows, const span *child, const span *parent, check_findings *findings) {
  char text[32];
  const double by = (double)(child->end - parent->end);
  if (!finding_add(findings, CHECK_CHILD_OUTSIDE_PARENT, by, child->byte)) return;
  pd_text_time(text, sizeof text, by);
  finding_say(findings, CHECK_CHILD_OUTSIDE_PARENT, "\"%s\" ends %s after \"%s\", in which it begins",
              check_rows_name(rows, child->name), text, check_rows_name(rows, parent->name));
}

/* `open` is a stack with room for all. What ends later than its parent stays on it: it is one finding, not one for each
 * of its own children. */
static void nest(const check_rows *rows, const span *spans, const uint32_t *order, uint64_t count, uint32_t *open,
                 int64_t slack, check_findings *findings) {
  uint64_t depth = 0;
  for (uint64_t i = 0; i < count; i++) {
    const span *at = &spans[order[i]];
    while (depth && (spans[open[depth - 1]].thread != at->thread || spans[open[depth - 1]].end <= at->start)) depth--;
    if (depth && at->end > spans[open[depth - 1]].end + slack && at->start + slack < spans[open[depth - 1]].end)
      report(rows, at, &spans[open[depth - 1]], findings);
    open[depth++] = order[i];
  }
}

pd_status check_host(const check_rows *rows, check_clock clock, check_findings *findings) {
  const uint64_t all = rows->ranges.count + rows->calls.count;
  if (all >= PD_NONE) return PD_NO_MEMORY;
  span *spans = malloc((size_t)(all + 1) * sizeof *spans);
  uint32_t *order = malloc((size_t)(all + 1) * 2 * sizeof *order);
  if (spans && order) {
    const uint64_t count = collect(rows, spans, findings);
    for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
    sort_runs(order, order + all, count, span_after, spans);
    nest(rows, spans, order, count, order + all, check_clock_slack(clock.host_ns), findings);
  }
  const pd_status status = spans && order ? PD_OK : PD_NO_MEMORY;
  free(spans);
  free(order);
  return status;
}
