/* The dataset; see dataset.h. */
#include "dataset.h"

#include "random.h"

#include <math.h>

double dataset_augment(int64_t rounds) {
  double sum = 0;
  for (int64_t i = 0; i < rounds; i++) {
    double x = (double)i;
    /* The work is the point: the compiler may not know that it is the same for every sample. */
    __asm__ volatile("" : "+m"(x));
    sum += sin(x * 0.001) * cos(x * 0.002);
  }
  return sum;
}

void dataset_sample(const data_config *config, uint64_t epoch, uint64_t index, float *image, int64_t *label) {
  const uint64_t key = random_mix(random_mix(random_mix(config->seed) + epoch) + index);
  double remainder = fmod(dataset_augment(config->cpu_work), 1e-3);
  if (remainder < 0) remainder += 1e-3;
  *label = (int64_t)(((random_mix(key ^ 0x6C6162656Cu) >> 32) * 1000) >> 32);
  random_normal(image, 3 * config->image_size * config->image_size, key, (float)(1 + remainder));
}
