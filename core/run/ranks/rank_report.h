/* What several ranks did together, on standard output. [loop thread] */
#ifndef CORE_RUN_RANK_REPORT_H
#define CORE_RUN_RANK_REPORT_H

#include "rank_summary.h"

#include <stdio.h>

/* At most 80 columns; `quiet`: the verdict's sentence alone. */
void rank_report_text(const rank_summary *self, bool quiet);
/* False on no memory, or a stream that failed. */
bool rank_report_json(const rank_summary *self, FILE *out);

#endif
