/* The models besides the cnn in plain loops and double precision, to compare with. */
#ifndef TESTS_SUPPORT_REFERENCE_MODELS_H
#define TESTS_SUPPORT_REFERENCE_MODELS_H

#include <stdint.h>

/* The loss of `samples` images (N,3,size,size), by the parameters in the kit's order. */
typedef double (*reference_model)(double *const *parameters, const float *images, const int64_t *labels,
                                  int64_t samples, int64_t size);
double reference_mlp(double *const *parameters, const float *images, const int64_t *labels, int64_t samples,
                     int64_t size);
double reference_transformer(double *const *parameters, const float *images, const int64_t *labels, int64_t samples,
                             int64_t size);

#endif
