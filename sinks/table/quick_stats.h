/* Quick stats, where the view `run` is shown: under the names of the PyTorch script, then the active steps. */
#ifndef SINKS_TABLE_QUICK_STATS_H
#define SINKS_TABLE_QUICK_STATS_H

#include "text.h"

#include <pdhost/sink.h>

/* `analysis` says how many digits the figures carry; NULL: the same for all. `columns`: of the text. */
void quick_stats_write(text *out, const pd_analysis *analysis, const pd_run *run, const pd_summary *summary,
                       size_t columns);

#endif
