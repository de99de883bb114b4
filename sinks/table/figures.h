/* Figures with as many digits as their spread supports; how many those are, pd_analysis says. */
#ifndef SINKS_TABLE_FIGURES_H
#define SINKS_TABLE_FIGURES_H

#include <stddef.h>

/* Digits where the host cannot say how many; decimals finer than any clock, where the unit sets no bound. */
enum { FIGURES_DIGITS_UNKNOWN = 4, FIGURES_MOST_DECIMALS = 12 };

/* `value` with `digits` significant digits, in plain notation, but no more than `most_decimals` of them after the
 * point. */
void figures_write(char *out, size_t room, double value, int digits, int most_decimals);

#endif
