/* Small plots in text: a bar of one line, and a strip of values. In blocks of Unicode where the locale has them. */
#ifndef SINKS_TABLE_PLOTS_H
#define SINKS_TABLE_PLOTS_H

#include "text.h"

/* Whether LC_ALL, LC_CTYPE or LANG, the first of them that is set, names UTF-8. */
bool plots_unicode(void);
/* A bar of `share` (0..1) of `columns`; something shows of any share above 0. */
void plots_bar(text *out, double share, size_t columns, bool unicode);
/* One character per value, by its height between the least and the largest; where there are more values than `columns`,
 * means of neighbours. */
void plots_strip(text *out, const double *values, uint64_t count, size_t columns, bool unicode);

#endif
