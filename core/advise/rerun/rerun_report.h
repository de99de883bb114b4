/* What pdhost rerun prints, on standard output. [main thread] */
#ifndef CORE_ADVISE_RERUN_RERUN_REPORT_H
#define CORE_ADVISE_RERUN_RERUN_REPORT_H

#include "manifest_compare.h"

/* A sentence, then a line for each part, with at most RERUN_SHOWN differences under it. */
#define RERUN_SHOWN 5
void rerun_report_text(const manifest_comparison *of);
/* All of them. False on no memory. */
bool rerun_report_json(const manifest_comparison *of);

#endif
