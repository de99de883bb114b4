/*
 * Bare CUPTI: the least a collector can do, which is to count its records: the same kinds and calls as pdhost's, in
 * buffers that are faulted in and used again. The measure that pdhost's collector is held against.
 */
#ifndef BENCH_CUPTI_BARE_H
#define BENCH_CUPTI_BARE_H

#include <stdbool.h>
#include <stdint.h>

/* With `calls` what pdhost records of a run; else kernels, copies and sets alone. Both return 0, or print why not. */
int bare_attach(bool calls);
int bare_detach(void);
/* Records seen: device's and calls'. */
void bare_counts(uint64_t *device, uint64_t *calls);

#endif
