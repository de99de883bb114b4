/* The slow synthetic dataset. A sample depends on (seed, epoch, index) alone. Any thread. */
#ifndef CORE_DATA_DATASET_H
#define CORE_DATA_DATASET_H

#include <stdint.h>

enum { DATASET_CHANNELS = 3, DATASET_CLASSES = 1000 };

typedef struct dataset {
  uint64_t seed;
  int64_t image_size;
  int64_t cpu_work;
} dataset;

/* Elements of one image. */
int64_t dataset_image_count(const dataset *set);

/* Makes a sample: image (3,S,S), label. Does not sleep: the loader does. */
void dataset_sample(const dataset *set, uint64_t epoch, uint64_t index, float *image, int64_t *label);

/* How long a sample's read takes, as a multiple of the mean read: log-normal with mean 1 and this sigma; 1 where it is
 * 0. */
double dataset_read_share(const dataset *set, uint64_t epoch, uint64_t index, double sigma);

/* The augment loop: sum over i < rounds of sin(i*0.001) * cos(i*0.002), modulo 1e-3, not negative. */
double dataset_augment(int64_t rounds);

#endif
