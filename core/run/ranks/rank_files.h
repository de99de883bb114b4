/* The ranks of the files of one `pdhost analyze`: gathered window by window, judged at the end. [loop thread] */
#ifndef CORE_RUN_RANK_FILES_H
#define CORE_RUN_RANK_FILES_H

#include "rank_side.h"

/* All zero at first. */
typedef struct rank_files {
  rank_side *sides;
  uint32_t count, room;
} rank_files;

/* Files that say they are of one rank are windows of it; a file that does not say is a rank of its own. `path` stays.
 * False on no memory. */
bool rank_files_add(rank_files *self, const char *path, const pd_trace *trace);
/* Prints the summary where two or more ranks have collectives. False on no memory. */
bool rank_files_report(rank_files *self, bool as_json, bool quiet);
void rank_files_free(rank_files *self);

#endif
