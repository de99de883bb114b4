/* Figures with as many digits as their spread supports; how many those are, pd_analysis says. */
#ifndef SINKS_TABLE_FIGURES_H
#define SINKS_TABLE_FIGURES_H

#include <stddef.h>

/* `value` with `digits` significant digits, in plain notation. */
void figures_write(char *out, size_t room, double value, int digits);

#endif
