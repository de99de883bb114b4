/* What several ranks did together, on standard output. [loop thread] */
#ifndef CORE_RUN_RANK_REPORT_H
#define CORE_RUN_RANK_REPORT_H

#include "rank_summary.h"

/* At most 80 columns; `quiet`: the verdict's sentence alone. */
void rank_report_text(const rank_summary *self, bool quiet);
/* False on no memory. */
bool rank_report_json(const rank_summary *self);

#endif
