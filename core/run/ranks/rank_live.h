/* The summary of the ranks of a run that goes on here: each adds its windows, and rank 0 judges. [loop thread] */
#ifndef CORE_RUN_RANK_LIVE_H
#define CORE_RUN_RANK_LIVE_H

#include "rank_group.h"

#include <pdhost/analysis.h>

typedef struct rank_live rank_live;

/* `settings` are the run's, and outlive it. NULL on no memory. */
rank_live *rank_live_open(const rank_group *group, const config *settings);
void rank_live_close(rank_live *self);
/* All ranks, before the first window: compares the clocks. */
pd_status rank_live_begin(rank_live *self);
/* PD_NO_MEMORY is the only failure. */
pd_status rank_live_add(rank_live *self, const pd_trace *trace);

/* All ranks: gathers their sides on rank 0, which writes the summary to `path` as JSON where all have collectives. */
pd_status rank_live_gather(rank_live *self, const pd_files *writer, const char *path);
/* The summary as tables, on rank 0, where there is one; they are `self`'s. NULL: there is none, or no memory. */
const pd_table_set *rank_live_tables(rank_live *self);
/* Writes it to the capture of rank 0, for the sinks; nothing where there is none. */
struct capture_writer;
void rank_live_save(const rank_live *self, struct capture_writer *to);
/* Print the summary on standard output, where there is one here: what the ranks together say, and the figures of each.
 */
void rank_live_print_head(const rank_live *self);
void rank_live_print_figures(const rank_live *self);

#endif
