/* Memory that a process can still take: asked before a big trace is sorted, since a system without memory ends the
 * process without a word. [any thread] */
#ifndef CORE_TRACE_INTAKE_MEMORY_LEFT_H
#define CORE_TRACE_INTAKE_MEMORY_LEFT_H

#include <stdint.h>

/* The least of what the system says is available (/proc/meminfo), what the control group's limit leaves (version 2; the
 * files' pages that it holds count as free) and what RLIMIT_AS leaves. UINT64_MAX: nothing of it is known. */
uint64_t memory_left(void);

#endif
