/* Curves as an SVG picture: a line per series over the values of one key, with its quartiles as whiskers. [any thread]
 */
#ifndef CORE_SWEEP_SVG_CURVES_H
#define CORE_SWEEP_SVG_CURVES_H

#include <stdint.h>
#include <stdio.h>

typedef struct svg_series {
  const char *name;
  const double *y, *low, *high; /* at every x; y NaN: not measured */
} svg_series;

typedef struct svg_curves {
  const char *title, *x_name, *y_name;
  const char *const *x;
  const double
      *places; /* of each x, in their order: 0, the left end, up to 1; NULL: evenly spaced, whatever they are */
  uint32_t x_count, series_count;
  const svg_series *series;
} svg_curves;

/* Texts may hold anything; what XML cannot hold is left out. The axis of y begins at 0. */
void svg_curves_write(const svg_curves *self, FILE *out);

#endif
