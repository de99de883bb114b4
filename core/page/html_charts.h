/* Charts of a page, as SVG: values as dots, and intervals. The figures are printed beside them. [any thread] */
#ifndef CORE_PAGE_HTML_CHARTS_H
#define CORE_PAGE_HTML_CHARTS_H

#include "html_page.h"

#include <stdint.h>

/* A line of dots: each value one, and a mark at the median. */
typedef struct html_dots {
  const char *name;
  const double *values;
  uint64_t count;
  double median;
} html_dots;

/* Lines of dots over one axis from 0; `unit` is that of the values ("ms"). At most 2000 dots of a line are drawn. */
void html_charts_dots(html_page *page, const char *title, const html_dots *lines, uint32_t count, const char *unit);

/* A cell of a table: a bar from `zero` to `value`, and a line from `low` to `high`, on an axis from `from` to `to`.
 * NaN: no bar, no line. */
void html_charts_interval(html_page *page, double value, double low, double high, double from, double to, double zero);

#endif
