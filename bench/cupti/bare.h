/*
 * Bare CUPTI: the least a collector can do, which is to count its records. The measure that pdhost's collector is held
 * against.
 */
#ifndef BENCH_CUPTI_BARE_H
#define BENCH_CUPTI_BARE_H

#include <stdbool.h>
#include <stdint.h>

/* Kernels, copies and sets; with `calls` all runtime calls too. Both return 0 or a CUptiResult. */
int bare_attach(bool calls);
int bare_detach(void);
/* Records seen: device's and calls'. */
void bare_counts(uint64_t *device, uint64_t *calls);

#endif
