/* See check_clock.h. */
#include "check_clock.h"

#include <pdhost/quantity.h>

#define FAR_NS INT64_C(1000000000)

static int64_t divisor(int64_t a, int64_t b) {
  while (b) {
    const int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}

/* Only differences count: a file's times may begin anywhere. */
typedef struct clock_sum {
  int64_t first, quantum;
  uint64_t count, byte;
} clock_sum;

static void take(clock_sum *self, int64_t start, int64_t end, uint64_t byte) {
  if (!self->count++) {
    self->first = start;
    self->byte = byte;
  }
  self->quantum = divisor(self->quantum, start - self->first);
  self->quantum = divisor(self->quantum, end - start);
}

static int64_t judge(const clock_sum *self, const char *whose, check_findings *findings) {
  char text[32];
  if (self->count < CHECK_CLOCK_ROWS || !self->quantum) return 0;
  if (self->quantum >= CHECK_COARSE_NS &&
      finding_add(findings, CHECK_CLOCK_QUANTUM, (double)self->quantum, self->byte)) {
    pd_text_time(text, sizeof text, (double)self->quantum);
    finding_say(findings, CHECK_CLOCK_QUANTUM, "every time of the %s is a multiple of %s", whose, text);
  }
  return self->quantum;
}

/* A time that was lost is written as 0: it is far from all others. */
typedef struct zero_starts {
  uint64_t count, byte;
  uint32_t name;
  int64_t nearest; /* to 0, of the other events */
} zero_starts;

static void take_start(zero_starts *self, int64_t start, uint32_t name, uint64_t byte) {
  const int64_t distance = start < 0 ? -start : start;
  if (start && distance < self->nearest) self->nearest = distance;
  if (start || self->count++) return;
  self->name = name;
  self->byte = byte;
}

static void check_zeros(const check_rows *rows, check_findings *findings) {
  const check_range *ranges = rows->ranges.data;
  const check_call *calls = rows->calls.data;
  const check_work *works = rows->works.data;
  zero_starts zeros = {.nearest = INT64_MAX};
  for (uint64_t i = 0; i < rows->ranges.count; i++) take_start(&zeros, ranges[i].start, ranges[i].name, ranges[i].byte);
  for (uint64_t i = 0; i < rows->calls.count; i++) take_start(&zeros, calls[i].start, calls[i].name, calls[i].byte);
  for (uint64_t i = 0; i < rows->works.count; i++) take_start(&zeros, works[i].start, works[i].name, works[i].byte);
  if (!zeros.count || zeros.nearest == INT64_MAX || zeros.nearest < FAR_NS) return;
  char text[32];
  pd_text_time(text, sizeof text, (double)zeros.nearest);
  if (finding_add(findings, CHECK_IMPLAUSIBLE_TIME, (double)zeros.nearest, zeros.byte))
    finding_say(findings, CHECK_IMPLAUSIBLE_TIME, "\"%s\" begins at time 0, and the next event %s later",
                check_rows_name(rows, zeros.name), text);
  findings->of[CHECK_IMPLAUSIBLE_TIME].count += zeros.count - 1;
}

check_clock check_clocks(const check_rows *rows, check_findings *findings) {
  const check_range *ranges = rows->ranges.data;
  const check_call *calls = rows->calls.data;
  const check_work *works = rows->works.data;
  clock_sum host = {.count = 0}, device = {.count = 0};
  check_zeros(rows, findings);
  for (uint64_t i = 0; i < rows->ranges.count; i++) take(&host, ranges[i].start, ranges[i].end, ranges[i].byte);
  for (uint64_t i = 0; i < rows->calls.count; i++) take(&host, calls[i].start, calls[i].end, calls[i].byte);
  for (uint64_t i = 0; i < rows->works.count; i++) take(&device, works[i].start, works[i].end, works[i].byte);
  check_clock made;
  made.host_ns = judge(&host, "host", findings);
  made.device_ns = judge(&device, "device", findings);
  return made;
}

int64_t check_clock_slack(int64_t quantum_ns) { return quantum_ns >= CHECK_COARSE_NS ? quantum_ns : 1; }
