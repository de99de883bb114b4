/* Measurements side by side as a page. [loop thread] */
#ifndef CORE_COMPARE_COMPARE_PAGE_H
#define CORE_COMPARE_COMPARE_PAGE_H

#include "compare_report.h"

#include "base/error.h"

/* Each time as a dot, the figures of each sample, and of each pair the ratio with its interval. `tables` may be NULL.
 */
pd_status compare_page_write(const compare_report *self, const char *path, error *err);

#endif
