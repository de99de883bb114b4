/* What `pdhost diff` prints, on standard output. [main thread] */
#ifndef CORE_COMPARE_DIFF_REPORT_H
#define CORE_COMPARE_DIFF_REPORT_H

#include "diff_rows.h"

/* At most 80 columns; rows that are not worth a line (diff_words.h) are left out. */
void diff_report_text(const difference *self, bool color);
/* False on no memory. */
bool diff_report_json(const difference *self);

#endif
