/* Device records and the calls that launched them. See check_device_rows.h. */
#include "check_device_rows.h"

#include "trace/sort.h"
#include "trace/trace_steps.h"

#include <pdhost/quantity.h>

#include <stdlib.h>
#include <string.h>

static bool call_after(const void *rows, uint32_t a, uint32_t b) {
  const check_call *first = (const check_call *)rows + a, *second = (const check_call *)rows + b;
  if (first->correlation != second->correlation) return first->correlation > second->correlation;
  return first->start > second->start;
}

static bool work_after(const void *rows, uint32_t a, uint32_t b) {
  const check_work *first = (const check_work *)rows + a, *second = (const check_work *)rows + b;
  return first->start > second->start;
}

static bool start_after(const void *rows, uint32_t a, uint32_t b) {
  const check_call *first = (const check_call *)rows + a, *second = (const check_call *)rows + b;
  return first->start > second->start;
}

static uint64_t first_of(const check_call *calls, const uint32_t *order, uint64_t count, uint64_t correlation) {
  uint64_t low = 0, high = count;
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (calls[order[middle]].correlation < correlation)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* As the analysis has it: the last call of the number that began before the record, else the first one. */
static void join(check_rows *rows, const uint32_t *by_number) {
  const check_call *calls = rows->calls.data;
  check_work *works = rows->works.data;
  for (uint64_t i = 0; i < rows->works.count; i++) {
    const uint64_t number = works[i].correlation;
    uint64_t at = first_of(calls, by_number, rows->calls.count, number);
    if (!number || at == rows->calls.count || calls[by_number[at]].correlation != number) continue;
    works[i].call = by_number[at];
    for (at++; at < rows->calls.count && calls[by_number[at]].correlation == number; at++)
      if (calls[by_number[at]].start <= works[i].start) works[i].call = by_number[at];
  }
}

static void check_order(const check_rows *rows, check_clock clock, check_findings *findings) {
  const check_call *calls = rows->calls.data;
  const check_work *works = rows->works.data;
  const int64_t host = check_clock_slack(clock.host_ns), device = check_clock_slack(clock.device_ns);
  const int64_t slack = host > device ? host : device;
  for (uint64_t i = 0; i < rows->works.count; i++) {
    const check_work *at = &works[i];
    char text[32];
    if (at->call == PD_NONE || at->start + slack >= calls[at->call].start) continue;
    const double by = (double)(calls[at->call].start - at->start);
    if (!finding_add(findings, CHECK_WORK_BEFORE_LAUNCH, by, at->byte)) continue;
    pd_text_time(text, sizeof text, by);
    finding_say(findings, CHECK_WORK_BEFORE_LAUNCH, "\"%s\" begins %s before %s, which launched it (number %llu)",
                check_rows_name(rows, at->name), text, check_rows_name(rows, calls[at->call].name),
                (unsigned long long)at->correlation);
  }
}

/* Calls are numbered one after the other, in a process: a record with a number below that of every call in the file was
 * launched before the recording began. A record without a number cannot be tied to its call. */
static void check_orphans(const check_rows *rows, const uint32_t *by_start, uint64_t lowest, check_findings *findings) {
  const check_work *works = rows->works.data;
  uint64_t backlog = 0, unnumbered = 0;
  for (uint64_t i = 0; i < rows->works.count; i++) {
    const check_work *at = &works[by_start[i]];
    char number[CHECK_NUMBER];
    if (at->call != PD_NONE) continue;
    unnumbered += !at->correlation;
    if (at->correlation && at->correlation < lowest) {
      backlog++;
    } else if (finding_add(findings, CHECK_WORK_WITHOUT_LAUNCH, (double)(at->end - at->start), at->byte)) {
      char text[32];
      pd_text_time(text, sizeof text, (double)(at->end - at->start));
      finding_say(findings, CHECK_WORK_WITHOUT_LAUNCH, "\"%s\" (%s, %s) has no call", check_rows_name(rows, at->name),
                  text, check_number(number, at->correlation));
    }
  }
  if (backlog)
    finding_note(findings, "device records without a call, launched before the recording began: %llu of %llu",
                 (unsigned long long)backlog, (unsigned long long)rows->works.count);
  if (unnumbered) {
    char text[96];
    finding_note(findings, "%s", trace_unnumbered_text(text, sizeof text, unnumbered));
  }
}

static bool holds(const check_rows *rows, uint32_t name, const char *word) {
  return strstr(strings_get(rows->strings, name).text, word) != NULL;
}

/* What was launched last may have run after the recording ended: its number is above that of every device record. A
 * call while a stream is captured runs nothing. */
static void check_barren(const check_rows *rows, const uint32_t *by_start, const bool *launched, uint64_t highest,
                         check_findings *findings) {
  const check_call *calls = rows->calls.data;
  uint64_t empty = 0, late = 0;
  uint32_t captures = 0;
  for (uint64_t i = 0; i < rows->calls.count; i++) {
    const check_call *at = &calls[by_start[i]];
    char number[CHECK_NUMBER];
    if (at->api == PD_API_OTHER && holds(rows, at->name, "StreamBeginCapture")) captures++;
    if (at->api == PD_API_OTHER && holds(rows, at->name, "StreamEndCapture") && captures) captures--;
    if (launched[by_start[i]] || at->result != 0 || captures) continue;
    if (at->api == PD_API_MEMCPY || at->api == PD_API_MEMSET) empty++;
    if (at->api != PD_API_LAUNCH && at->api != PD_API_GRAPH_LAUNCH) continue;
    if (highest && at->correlation > highest) {
      late++;
    } else if (finding_add(findings, CHECK_LAUNCH_WITHOUT_WORK, 0, at->byte)) {
      finding_say(findings, CHECK_LAUNCH_WITHOUT_WORK, "%s (%s) has no device record", check_rows_name(rows, at->name),
                  check_number(number, at->correlation));
    }
  }
  if (empty)
    finding_note(findings, "copies or sets without a device record, as those of no bytes: %llu",
                 (unsigned long long)empty);
  if (late)
    finding_note(findings, "launches at the end without a device record, which may have run after the recording: %llu",
                 (unsigned long long)late);
}

static uint64_t lowest_call(const check_rows *rows) {
  const check_call *calls = rows->calls.data;
  uint64_t lowest = UINT64_MAX;
  for (uint64_t i = 0; i < rows->calls.count; i++)
    if (calls[i].correlation && calls[i].correlation < lowest) lowest = calls[i].correlation;
  return lowest;
}

static uint64_t highest_work(const check_rows *rows) {
  const check_work *works = rows->works.data;
  uint64_t highest = 0;
  for (uint64_t i = 0; i < rows->works.count; i++)
    if (works[i].correlation > highest) highest = works[i].correlation;
  return highest;
}

/* Another call of the same number, a driver's in a runtime's, is launched with it. */
static void mark_launched(const check_rows *rows, const uint32_t *by_number, bool *launched) {
  const check_call *calls = rows->calls.data;
  const check_work *works = rows->works.data;
  for (uint64_t i = 0; i < rows->works.count; i++)
    if (works[i].call != PD_NONE) launched[works[i].call] = true;
  for (uint64_t i = 0; i < rows->calls.count;) {
    uint64_t end = i;
    bool any = false;
    for (; end < rows->calls.count && calls[by_number[end]].correlation == calls[by_number[i]].correlation; end++)
      any |= launched[by_number[end]];
    for (; i < end; i++) launched[by_number[i]] |= any && calls[by_number[i]].correlation;
  }
}

static pd_status check_all(check_rows *rows, check_clock clock, uint32_t *order, uint64_t room,
                           check_findings *findings) {
  bool *launched = calloc(rows->calls.count + 1, sizeof *launched);
  if (!launched) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < rows->calls.count; i++) order[i] = (uint32_t)i;
  sort_runs(order, order + room, rows->calls.count, call_after, rows->calls.data);
  if (!rows->is_merged) join(rows, order);
  mark_launched(rows, order, launched);
  check_order(rows, clock, findings);
  if (!rows->is_merged) {
    for (uint64_t i = 0; i < rows->calls.count; i++) order[i] = (uint32_t)i;
    sort_runs(order, order + room, rows->calls.count, start_after, rows->calls.data);
    check_barren(rows, order, launched, highest_work(rows), findings);
    for (uint64_t i = 0; i < rows->works.count; i++) order[i] = (uint32_t)i;
    sort_runs(order, order + room, rows->works.count, work_after, rows->works.data);
    check_orphans(rows, order, lowest_call(rows), findings);
  }
  free(launched);
  return PD_OK;
}

pd_status check_launches(check_rows *rows, check_clock clock, check_findings *findings) {
  const uint64_t room = (rows->calls.count > rows->works.count ? rows->calls.count : rows->works.count) + 1;
  if (rows->works.count && !rows->calls.count) {
    finding_note(findings, "the file holds no calls: what was launched is not checked");
    return PD_OK;
  }
  uint32_t *order = malloc((size_t)room * 2 * sizeof *order);
  const pd_status status = order ? check_all(rows, clock, order, room, findings) : PD_NO_MEMORY;
  free(order);
  return status;
}
