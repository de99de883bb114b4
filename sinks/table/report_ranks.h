/* The report on files of several ranks, in the place of the short one: what they did together is printed already, and
 * each has the verdict on it alone, in one line. [loop thread] */
#ifndef SINKS_TABLE_REPORT_RANKS_H
#define SINKS_TABLE_REPORT_RANKS_H

#include "text.h"

#include <pdhost/sink.h>

enum { REPORT_RANKS = 16 };

typedef struct report_rank {
  text line;
  uint32_t rank; /* the window's number where the file does not say it */
} report_rank;

/* Zero it. */
typedef struct report_ranks {
  report_rank ranks[REPORT_RANKS];
  uint32_t count;
  bool are_more;
} report_ranks;

/* A later window of a rank takes the place of the one before. */
void report_ranks_take(report_ranks *self, const pd_trace *trace, const pd_table *verdict, size_t columns);
/* With notes and files; `files` may be NULL. */
void report_ranks_write(const report_ranks *self, text *out, const pd_summary *summary, const pd_files *files,
                        size_t columns);
void report_ranks_free(report_ranks *self);

#endif
