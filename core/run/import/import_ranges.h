/* The names of a program's own ranges, for a message. */
#ifndef CORE_RUN_IMPORT_IMPORT_RANGES_H
#define CORE_RUN_IMPORT_IMPORT_RANGES_H

#include <pdhost/trace.h>

/* The most frequent ones that --step takes, five at most, as in: "forward", "ProfilerStep". Names that differ only from
 * their # on are one. "" where there is none, and where there is no memory. [loop thread] */
void import_ranges_name(const pd_trace *trace, char *out, size_t room);

#endif
