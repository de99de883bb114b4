/* Where a window is parted into files: at borders of steps, by size. [loop thread] */
#ifndef SINKS_CHROME_TRACE_PARTS_H
#define SINKS_CHROME_TRACE_PARTS_H

#include "names.h"

#include <pdhost/plugin.h>

typedef struct part_plan {
  int64_t *starts_ns; /* of each file; the first is the window's start */
  uint64_t count;     /* at least 1 */
} part_plan;

/* Files of about `split_bytes`, each of at least one step; 0: one file. PD_NO_MEMORY leaves nothing to free. */
pd_status parts_plan(part_plan *self, const pd_trace *trace, const name_table *names, uint64_t split_bytes);
void parts_free(part_plan *self);

#endif
