/* Figures with as many digits as their spread supports; how many those are, pd_analysis says. */
#ifndef SINKS_TABLE_FIGURES_H
#define SINKS_TABLE_FIGURES_H

#include <stddef.h>

/* Finer than any clock: a figure whose unit has no last decimal place of its own. */
enum { FIGURES_MOST_DECIMALS = 12 };

/* `value` with `digits` significant digits, in plain notation, but no more than `most_decimals` of them behind the
 * point. */
void figures_write(char *out, size_t room, double value, int digits, int most_decimals);

#endif
