/* See dataset.h. */
#include "dataset.h"

#include "noise.h"

#include <math.h>

int64_t dataset_image_count(const dataset *set) { return DATASET_CHANNELS * set->image_size * set->image_size; }

double dataset_augment(int64_t rounds) {
  /* Read anew for every sample, so that no compiler may take one sample's sum for another's. */
  static const volatile double sine_unit = 0.001, cosine_unit = 0.002;
  const double a = sine_unit, b = cosine_unit;
  double acc = 0;
  for (int64_t i = 0; i < rounds; i++) acc += sin((double)i * a) * cos((double)i * b);
  const double rest = fmod(acc, 1e-3);
  return rest < 0 ? rest + 1e-3 : rest;
}

static uint64_t key_of(const dataset *set, uint64_t epoch, uint64_t index) {
  return noise_mix(noise_mix(noise_mix(set->seed) + epoch) + index);
}

double dataset_read_share(const dataset *set, uint64_t epoch, uint64_t index, double sigma) {
  float normal;
  if (!(sigma > 0)) return 1;
  noise_normal(&normal, 1, noise_mix(key_of(set, epoch, index) ^ 0x72656164u), 1);
  return exp(sigma * (double)normal - sigma * sigma / 2);
}

void dataset_sample(const dataset *set, uint64_t epoch, uint64_t index, float *image, int64_t *label) {
  const uint64_t key = key_of(set, epoch, index);
  *label = (int64_t)((noise_mix(key ^ 0x6c6162656cu) >> 32) * DATASET_CLASSES >> 32);
  /* The factor goes in with the draw: one pass over the image instead of two. */
  noise_normal(image, dataset_image_count(set), key, (float)(1.0 + dataset_augment(set->cpu_work)));
}
