/* The tables of a whole run, made from its steps alone: they need no trace. [loop thread] */
#ifndef CORE_TABLES_RUN_TABLES_H
#define CORE_TABLES_RUN_TABLES_H

#include "table_build.h"

#include <pdhost/sink.h>

/* All of them, in `pool`. NULL on no memory. */
const pd_table_set *run_tables_make(arena *pool, const pd_run *run, const pd_summary *summary);

#endif
