/* The report on files of several ranks, in the place of the short one: what they did together is printed already, and
 * each has the verdict on it alone. [loop thread] */
#ifndef SINKS_TABLE_REPORT_RANKS_H
#define SINKS_TABLE_REPORT_RANKS_H

#include "text.h"

#include <pdhost/sink.h>

typedef struct report_rank {
  text verdict;
  uint32_t rank, ranks;
} report_rank;

/* Zero it. */
typedef struct report_ranks {
  report_rank *ranks;
  uint32_t count, room;
  bool failed; /* out of memory */
} report_ranks;

/* Whether the windows are those of several ranks, by the run's tables; `set` may be NULL. A run of ours has none: each
 * rank of it reports its own. `late`: the rank that the others wait for; UINT32_MAX: none. */
bool report_ranks_are(const pd_run *run, const pd_table_set *set, uint32_t *late);
/* A later window of a rank takes the place of the one before. */
void report_ranks_take(report_ranks *self, const pd_trace *trace, const pd_table *verdict, size_t columns);
/* In the order of the ranks, whatever that of their files was, with notes and files; `files` may be NULL. The
 * first ranks are shown, and `late`. */
void report_ranks_write(report_ranks *self, text *out, uint32_t late, const pd_summary *summary, const pd_files *files,
                        size_t columns);
void report_ranks_free(report_ranks *self);

#endif
