/* The ranks of the files of one `pdhost analyze`: gathered window by window, judged at the end. [loop thread] */
#ifndef CORE_RUN_RANK_FILES_H
#define CORE_RUN_RANK_FILES_H

#include "rank_span.h"
#include "rank_summary.h"

#include <pdhost/analysis.h>

/* All zero at first. */
typedef struct rank_files {
  rank_side *sides;
  uint32_t count, room;
  rank_span *spans; /* of the files */
  uint32_t span_count, span_room;
  rank_side *judged; /* of them, those with collectives; where there are not two, those that name their rank */
  rank_summary summary;
  arena tables;
} rank_files;

/* Files that say they are of one rank of as many are windows of it. Files that do not say it are windows of one rank
 * where their steps differ, and ranks where their steps are the same. `path` stays. False on no memory. */
bool rank_files_add(rank_files *self, const char *path, pd_trace *trace);
/* Once all are added: what two or more ranks did together, which have collectives or name themselves, or why that is
 * not known, where their files are not of one job. False on no memory. */
bool rank_files_judge(rank_files *self);
/* The same as tables, which are `self`'s; NULL: there are not two ranks, or no memory. */
const pd_table_set *rank_files_tables(rank_files *self);
/* The file of the rank that the others wait for; NULL: there is none. */
const char *rank_files_late(const rank_files *self);
/* Prints it where there are two, before the sinks print. `next`: what to do then; `in_full`: what shows the report on
 * one rank; NULL: nothing. */
void rank_files_print(const rank_files *self, const char *next, const char *in_full, bool quiet);
/* The same as JSON. False on no memory. */
bool rank_files_json(const rank_files *self);
void rank_files_free(rank_files *self);

#endif
