/* What several ranks did together, on standard output. [loop thread] */
#ifndef CORE_RUN_RANK_REPORT_H
#define CORE_RUN_RANK_REPORT_H

#include "rank_summary.h"

#include <stdio.h>

/* The verdict in a sentence. */
enum { RANK_SENTENCE_BYTES = 512 };
void rank_report_sentence(const rank_summary *self, char text[RANK_SENTENCE_BYTES]);
/* As one word: a verdict of several ranks, or withheld. */
const char *rank_report_verdict(const rank_summary *self);
/* Why that rank is late, as one word: a cause of the verdict, or uneven_work. NULL: no rank is, or it is not known. */
const char *rank_report_cause(const rank_summary *self);
/* The rank that the verdict names; NULL: none. */
const rank_figures *rank_report_late(const rank_summary *self);
/* What to do about it, in words. NULL: there is nothing to do, or nothing is known. */
const char *rank_report_helps(const rank_summary *self);

/* On standard output, at most 80 columns: the verdict's sentence and what helps, and the figures of each rank after
 * it. */
void rank_report_head(const rank_summary *self);
void rank_report_figures(const rank_summary *self);
/* False on no memory, or a stream that failed. */
bool rank_report_json(const rank_summary *self, FILE *out);

#endif
