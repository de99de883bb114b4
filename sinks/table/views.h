/* The ids that `views` may name, and why a run may have no table of one. */
#ifndef SINKS_TABLE_VIEWS_H
#define SINKS_TABLE_VIEWS_H

#include <pdhost/sink.h>

/* All of them, "all" too; ends with NULL. */
extern const char *const views_ids[];

/* Whether the table of this id is made at the end of the run. */
bool views_is_late(const char *id, size_t bytes);

/* Why a run has no table of this id: the key to set, or what is missing. */
const char *views_reason(const pd_run *run, const char *id, size_t bytes);

#endif
