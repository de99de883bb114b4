/* Curves of a sweep along its first key: bars on standard output, an SVG picture. [loop thread] */
#ifndef CORE_SWEEP_SWEEP_CURVES_H
#define CORE_SWEEP_SWEEP_CURVES_H

#include "sweep_found.h"

#include <stdio.h>

/* Whether there are any: the values of several drawn keys, or of one whose values are not numbers, have no order. */
bool sweep_curves_exist(const sweep_plan *plan);

/* A curve per combination of the other keys; drawn values are in their order. False on no memory. */
bool sweep_curves_print(const sweep_found *self);
bool sweep_curves_write(const sweep_found *self, FILE *out);

#endif
