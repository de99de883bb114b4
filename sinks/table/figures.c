/* See figures.h. */
#include "figures.h"

#include <math.h>
#include <stdio.h>

void figures_write(char *out, size_t room, double value, int digits, int most_decimals) {
  int magnitude = fabs(value) > 0 ? (int)floor(log10(fabs(value))) : 0;
  int decimals = digits - 1 - magnitude;
  if (!isfinite(value)) {
    snprintf(out, room, "-");
  } else if (decimals >= 0) {
    snprintf(out, room, "%.*f", decimals > most_decimals ? most_decimals : decimals, value);
  } else {
    double scale = pow(10, -decimals);
    snprintf(out, room, "%.0f", round(value / scale) * scale);
  }
}
