/*
 * What several ranks did together, as tables that every output shows: the verdict, the parts of each rank's steps, the
 * collectives by name, and the messages by size. [loop thread]
 */
#ifndef CORE_RUN_RANK_TABLES_H
#define CORE_RUN_RANK_TABLES_H

#include "rank_summary.h"

#include <pdhost/analysis.h>

/* In `pool`; NULL on no memory. Names are the sides', which have to outlive the tables. */
const pd_table_set *rank_tables_make(arena *pool, const rank_summary *self);

#endif
