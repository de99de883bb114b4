/* What one window adds to the charts: figures of its steps, histograms, tables. [loop thread] */
#ifndef SINKS_TENSORBOARD_WINDOW_EVENTS_H
#define SINKS_TENSORBOARD_WINDOW_EVENTS_H

#include "events.h"

#include <pdhost/sink.h>

/* A text per table, also for those of the whole run. `tables` may be NULL: none. */
pd_status window_events_tables(const event_place *place, const pd_table_set *tables);
/* `tables` may be NULL. */
pd_status window_events_write(record_file *file, const pd_trace *trace, const pd_table_set *tables);

#endif
