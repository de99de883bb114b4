/* What `pdhost diff --sink html` writes. [main thread] */
#ifndef CORE_COMPARE_DIFF_PAGE_H
#define CORE_COMPARE_DIFF_PAGE_H

#include "diff_rows.h"

#include "base/error.h"

/* The same rows as diff_report_json has them. */
pd_status diff_page_write(const difference *self, const char *path, error *err);

#endif
