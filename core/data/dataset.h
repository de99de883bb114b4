/* The slow synthetic dataset of workload.md: what one sample is and what it costs. */
#ifndef CORE_DATA_DATASET_H
#define CORE_DATA_DATASET_H

#include "loader.h"

/* Makes sample `index` of `epoch`: image (3,S,S) and label. Depends on (seed, epoch, index) alone. Does the augment
 * loop's work every time, but not the sleep. [any thread] */
void dataset_sample(const data_config *config, uint64_t epoch, uint64_t index, float *image, int64_t *label);

/* sum over i in [0, rounds) of sin(i*0.001) * cos(i*0.002), computed anew in every call. */
double dataset_augment(int64_t rounds);

#endif
