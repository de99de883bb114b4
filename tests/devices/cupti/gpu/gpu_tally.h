/* What the windows of gpu_cupti.c hold: counts of their records, and what has to be true of them. */
#ifndef TESTS_GPU_TALLY_H
#define TESTS_GPU_TALLY_H

#include "devices/cuda/cupti/cupti_collect.h"
#include "gpu_work.h"
#include "../kept_record.h"

typedef struct gpu_tally {
  uint64_t calls, driver_calls, matched, others, others_matched, graph_calls, graph_full, device_rows, early, orphans,
      doubled;
  uint64_t mangled, demangled; /* kernels by what their names show */
  int64_t least_gap_ns, early_ns;
} gpu_tally;

extern int gpu_failures;

/* Prints what was found and what was wanted, and counts a failure, unless `ok`. */
void gpu_check(bool ok, const char *what, uint64_t got, uint64_t wanted);
/* Adds a window's records, and empties the record. */
void gpu_tally_window(kept_record *record, gpu_tally *sum);
/* What the collector says of records before their calls is what its records show. */
void gpu_check_early(const gpu_tally *sum, const cupti_counts *counts, int64_t early_ns);
void gpu_check_names(const gpu_tally *sum);

#endif
