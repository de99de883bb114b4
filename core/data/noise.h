/* N(0,1) from a counter: element i depends on (key, i) alone. Pure functions, any thread. */
#ifndef CORE_DATA_NOISE_H
#define CORE_DATA_NOISE_H

#include <stdint.h>

/* A well mixed 64 bit number of `x`. */
uint64_t noise_mix(uint64_t x);

/* out[i] = factor * N(0,1), for i < count. The same bits on every processor and by every path below. */
void noise_normal(float *out, int64_t count, uint64_t key, float factor);

/* For tests: the number of instruction sets this processor can run, and noise_normal with one of them. */
int noise_path_count(void);
void noise_normal_path(int path, float *out, int64_t count, uint64_t key, float factor);

#endif
