/* Which series a window has. [any thread] */
#ifndef SINKS_LIB_SERIES_LIST_H
#define SINKS_LIB_SERIES_LIST_H

#include <pdhost/trace.h>

enum { SERIES_MOST = 512 };

/* The names of its series, as string ids, in the order in which they begin; how many. More than SERIES_MOST are left
 * out. */
uint32_t series_list(const pd_trace *trace, uint32_t names[SERIES_MOST]);

#endif
