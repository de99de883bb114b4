/* See check_device_rows.h. */
#include "check_device_rows.h"

#include "trace/programmatic.h"
#include "trace/sort.h"

#include <pdhost/quantity.h>

#include <stdlib.h>
#include <string.h>

/* ---- each record by itself ---- */

static void check_length(const check_rows *rows, const check_work *at, check_clock clock, check_findings *findings) {
  char text[32], number[CHECK_NUMBER];
  const double by = (double)(at->start - at->end);
  if (by > 0 && finding_add(findings, CHECK_NEGATIVE_TIME, by, at->byte)) {
    pd_text_time(text, sizeof text, by);
    finding_say(findings, CHECK_NEGATIVE_TIME, "\"%s\" ends %s before it begins", check_rows_name(rows, at->name),
                text);
  }
  /* A coarse clock rounds short work to nothing. */
  const bool is_empty = at->start == at->end && clock.device_ns < CHECK_COARSE_NS;
  if (is_empty && finding_add(findings, CHECK_ZERO_TIME, 0, at->byte))
    finding_say(findings, CHECK_ZERO_TIME, "\"%s\" (%s)", check_rows_name(rows, at->name),
                check_number(number, at->correlation));
}

/* PCI Express: 16 lanes of 8, 16, 32 and 64 GT/s with their coding carry 15.8, 31.5, 63.0 and 121 GB/s one way; NVLink
 * between POWER and Pascal or Volta 80 and 75 GB/s, NVLink-C2C between Grace and Hopper or Blackwell 450 GB/s. */
static double check_link_limit(const pd_device_props *device) {
  const double fastest = 450;
  if (!device || !device->compute_major || !strstr(device->name, "NVIDIA") || strstr(device->name, "GH200") ||
      strstr(device->name, "GB"))
    return fastest;
  if (device->compute_major < 8) return 80;
  if (device->compute_major == 8) return device->compute_minor == 7 ? fastest : 32; /* 8.7: one memory for both */
  return device->compute_major == 9 ? 64 : 128;
}

static bool is_host(pd_memory_kind kind) { return kind == PD_MEMORY_PAGEABLE || kind == PD_MEMORY_PINNED; }

/* A small copy's bytes may travel with its command: its length says little of the link. */
static void check_speed(const check_rows *rows, const check_work *at, check_clock clock, check_findings *findings) {
  enum { LEAST_BYTES = 4 << 10, LARGE_BYTES = 1 << 20 };
  const bool crosses =
      (is_host(at->from) && at->to == PD_MEMORY_DEVICE) || (at->from == PD_MEMORY_DEVICE && is_host(at->to));
  if (at->kind != PD_ACTIVITY_MEMCPY || !crosses || at->bytes < LEAST_BYTES || at->end <= at->start) return;
  const double limit = check_link_limit(check_rows_device(rows, at->stream)) * (at->bytes < LARGE_BYTES ? 1.5 : 1.02);
  const double longest = (double)(at->end - at->start + check_clock_slack(clock.device_ns));
  const double rate = (double)at->bytes / longest;
  if (rate <= limit || !finding_add(findings, CHECK_COPY_TOO_FAST, rate, at->byte)) return;
  char bytes[32], text[32];
  pd_text_bytes(bytes, sizeof bytes, (double)at->bytes);
  pd_text_time(text, sizeof text, (double)(at->end - at->start));
  finding_say(findings, CHECK_COPY_TOO_FAST,
              "\"%s\" moves %s in %s: %.0f GB/s, and no link of this device carries %.0f",
              check_rows_name(rows, at->name), bytes, text, (double)at->bytes / (double)(at->end - at->start), limit);
}

/* The share of the device's warps that the kernel's own take, by the file; 0: not known. Kineto rounds it to per cent.
 */
static double warps_share(const check_rows *rows, const check_work *at) {
  const pd_device_props *device = check_rows_device(rows, at->stream);
  const double most = device && device->max_threads_per_sm ? device->max_threads_per_sm / 32.0 : 64;
  return (double)at->warps_per_sm / most;
}

/* Kineto cannot compute it above 48 KiB of shared memory, and says 0; below a per cent it says 0, too. */
static void check_occupancy(const check_rows *rows, const check_work *at, uint64_t *known, check_findings *findings) {
  enum { DEFAULT_SHARED = 48 << 10 };
  const double share = warps_share(rows, at);
  if (at->kind != PD_ACTIVITY_KERNEL || at->occupancy < 0 || at->occupancy > 0 || share < 0.015) return;
  if (at->shared_bytes > DEFAULT_SHARED)
    ++*known;
  else if (finding_add(findings, CHECK_OCCUPANCY_ZERO, share, at->byte))
    finding_say(findings, CHECK_OCCUPANCY_ZERO, "\"%s\" has %.3g warps on each multiprocessor",
                check_rows_name(rows, at->name), (double)at->warps_per_sm);
}

/* ---- one after the other ---- */

static bool stream_after(const void *rows, uint32_t a, uint32_t b) {
  const check_work *first = (const check_work *)rows + a, *second = (const check_work *)rows + b;
  if (first->stream != second->stream) return first->stream > second->stream;
  if (first->start != second->start) return first->start > second->start;
  return first->end > second->end;
}

typedef enum overlap { OVERLAP_ILLEGAL, OVERLAP_LEGAL, OVERLAP_UNKNOWN } overlap;

/* A kernel that is launched programmatically may begin before the one in front of it ends, and kernels of one graph may
 * run side by side. */
static overlap judge_overlap(const check_rows *rows, const check_work *before, const check_work *at) {
  const check_call *calls = rows->calls.data;
  if (at->call != PD_NONE && at->call == before->call) return OVERLAP_LEGAL;
  const bool both = before->kind == PD_ACTIVITY_KERNEL && at->kind == PD_ACTIVITY_KERNEL;
  if (!both || !programmatic_on(check_rows_device(rows, at->stream)) || at->end < before->end) return OVERLAP_ILLEGAL;
  if (at->call == PD_NONE) return OVERLAP_UNKNOWN;
  return programmatic_call(strings_get(rows->strings, calls[at->call].name).text) ? OVERLAP_LEGAL : OVERLAP_ILLEGAL;
}

static bool is_same(const check_work *a, const check_work *b) {
  return a->start == b->start && a->end == b->end && a->name == b->name && a->correlation == b->correlation &&
         a->bytes == b->bytes && a->correlation;
}

static void report_twice(const check_rows *rows, const check_work *at, check_findings *findings) {
  if (finding_add(findings, CHECK_RECORDED_TWICE, (double)(at->end - at->start), at->byte))
    finding_say(findings, CHECK_RECORDED_TWICE, "\"%s\" (number %llu)", check_rows_name(rows, at->name),
                (unsigned long long)at->correlation);
}

static void report_overlap(const check_rows *rows, const check_work *before, const check_work *at,
                           check_findings *findings) {
  char text[32];
  const double by = (double)((before->end < at->end ? before->end : at->end) - at->start);
  if (!finding_add(findings, CHECK_STREAM_OVERLAP, by, at->byte)) return;
  pd_text_time(text, sizeof text, by);
  finding_say(findings, CHECK_STREAM_OVERLAP, "\"%s\" begins %s before \"%s\" ends, on stream %u",
              check_rows_name(rows, at->name), text, check_rows_name(rows, before->name),
              ((const pd_stream_row *)rows->streams.data)[at->stream].stream);
}

static void check_streams(const check_rows *rows, const uint32_t *order, int64_t slack, check_findings *findings) {
  const check_work *works = rows->works.data, *latest = NULL, *previous = NULL;
  uint64_t unknown = 0, legal = 0;
  for (uint64_t i = 0; i < rows->works.count; i++) {
    const check_work *at = &works[order[i]];
    if (at->end < at->start) continue;
    const bool is_next = latest && latest->stream == at->stream;
    if (is_next && is_same(previous, at)) {
      report_twice(rows, at, findings);
      continue;
    }
    if (is_next && at->start + slack < latest->end && at->end > at->start) {
      const overlap how = judge_overlap(rows, latest, at);
      unknown += how == OVERLAP_UNKNOWN;
      legal += how == OVERLAP_LEGAL;
      if (how == OVERLAP_ILLEGAL) report_overlap(rows, latest, at, findings);
    }
    if (!is_next || at->end > latest->end) latest = at;
    previous = at;
  }
  if (legal)
    finding_note(findings,
                 "kernels that begin before the one in front of them ends, as programmatic dependent launch and graphs "
                 "allow: %llu",
                 (unsigned long long)legal);
  if (unknown)
    finding_note(
        findings,
        "kernels that begin before the one in front of them ends, and whose calls are not there to say whether "
        "they may: %llu",
        (unsigned long long)unknown);
}

pd_status check_device(const check_rows *rows, check_clock clock, check_findings *findings) {
  const check_work *works = rows->works.data;
  const uint64_t count = rows->works.count;
  uint64_t known = 0;
  for (uint64_t i = 0; i < count; i++) {
    check_length(rows, &works[i], clock, findings);
    check_speed(rows, &works[i], clock, findings);
    check_occupancy(rows, &works[i], &known, findings);
  }
  if (known)
    finding_note(findings,
                 "kernels with occupancy 0, which the profiler cannot compute above 48 KiB of shared memory: %llu",
                 (unsigned long long)known);
  uint32_t *order = malloc((size_t)(count + 1) * 2 * sizeof *order);
  if (!order) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < count; i++) order[i] = (uint32_t)i;
  sort_runs(order, order + count, count, stream_after, works);
  check_streams(rows, order, check_clock_slack(clock.device_ns), findings);
  free(order);
  return PD_OK;
}
