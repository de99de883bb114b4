/* See gpu_tally.h. */
#include "gpu_tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

int gpu_failures;

void gpu_check(bool ok, const char *what, uint64_t got, uint64_t wanted) {
  if (ok) return;
  gpu_failures++;
  printf("FAILED: %s: %" PRIu64 ", wanted %" PRIu64 "\n", what, got, wanted);
}

static int by_correlation(const void *a_, const void *b_) {
  const pd_activity *a = a_, *b = b_;
  if (a->correlation != b->correlation) return a->correlation < b->correlation ? -1 : 1;
  return (a->kind > PD_ACTIVITY_DRIVER) - (b->kind > PD_ACTIVITY_DRIVER);
}

/* The first few launches with two records, row by row; times from the call's start. */
static void show(const pd_activity *rows, uint64_t count) {
  static int shown;
  if (shown++ >= 5) return;
  printf("  doubled: id %#" PRIx64 ", the loop's thread %d\n", rows->correlation, gettid());
  for (uint64_t i = 0; i < count; i++)
    printf("    kind %d name %u thread %u stream %u graph %u from %+" PRId64 " to %+" PRId64 " ns, %" PRIu64 " bytes\n",
           (int)rows[i].kind, rows[i].name, rows[i].thread, rows[i].stream,
           rows[i].kind == PD_ACTIVITY_KERNEL ? rows[i].u.kernel.graph : 0, rows[i].start - rows->start,
           rows[i].end - rows->start, rows[i].bytes);
}

static void tally_early(gpu_tally *sum, int64_t early_ns) {
  sum->early++;
  if (early_ns > sum->early_ns) sum->early_ns = early_ns;
}
static void tally_name(gpu_tally *sum, const char *name) {
  sum->mangled += !strncmp(name, "_Z", 2);
  sum->demangled += strpbrk(name, "(<") != NULL;
}

void gpu_tally_window(kept_record *record, gpu_tally *sum) {
  qsort(record->rows, record->count, sizeof *record->rows, by_correlation);
  for (uint64_t i = 0; i < record->count;) {
    uint64_t end = i, rows = 0;
    const pd_activity *call = record->rows[i].kind <= PD_ACTIVITY_DRIVER ? &record->rows[i] : NULL;
    for (; end < record->count && record->rows[end].correlation == record->rows[i].correlation; end++) {
      const pd_activity *row = &record->rows[end];
      if (row->kind < PD_ACTIVITY_KERNEL || row->kind > PD_ACTIVITY_MEMSET) continue;
      rows++;
      sum->device_rows++;
      if (row->kind == PD_ACTIVITY_KERNEL) tally_name(sum, record->names[row->name]);
      if (!call)
        sum->orphans++;
      else if (row->start < call->start)
        tally_early(sum, call->start - row->start);
      else if (row->start - call->start < sum->least_gap_ns)
        sum->least_gap_ns = row->start - call->start;
    }
    const bool empty = call && call->u.api.api == PD_API_MEMSET && !rows;
    if (call && !empty && call->u.api.api >= PD_API_LAUNCH && call->u.api.api <= PD_API_MEMSET &&
        call->u.api.result == 0) {
      bool own = call->thread == (uint32_t)gettid();
      if (own)
        sum->calls++, sum->matched += rows > 0;
      else
        sum->others++, sum->others_matched += rows > 0;
      /* A call in which CUPTI was attached may have the driver's part alone: another thread's are not counted. */
      sum->driver_calls += own && call->kind == PD_ACTIVITY_DRIVER;
      sum->doubled += rows > 1;
      if (rows > 1) show(record->rows + i, end - i);
    } else if (call && call->u.api.api == PD_API_GRAPH_LAUNCH) {
      sum->graph_calls++;
      sum->graph_full += rows == GPU_GRAPH_NODES + 1;
      if (rows != GPU_GRAPH_NODES + 1)
        printf("  graph launch %" PRIu64 ": %" PRIu64 " records\n", call->correlation, rows);
    }
    i = end;
  }
  record->count = 0;
}

/* What the collector says of records before their calls is what its records show. */
void gpu_check_early(const gpu_tally *sum, const cupti_counts *counts, int64_t early_ns) {
  gpu_check(counts->early == sum->early, "records before their launch that were counted", counts->early, sum->early);
  gpu_check(early_ns == sum->early_ns, "ns by which one begins before its launch", (uint64_t)early_ns,
            (uint64_t)sum->early_ns);
  gpu_check(sum->early_ns <= PD_EARLY_NS, "ns before a launch", (uint64_t)sum->early_ns, PD_EARLY_NS);
}
void gpu_check_names(const gpu_tally *sum) {
  gpu_check(sum->mangled == 0, "kernels with a mangled name", sum->mangled, 0);
  gpu_check(sum->demangled > 0, "kernels with a demangled name", sum->demangled, 1);
}
