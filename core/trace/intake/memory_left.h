/* Memory that a process can still take: asked before a big trace is sorted, since a system without memory ends the
 * process without a word. [any thread] */
#ifndef CORE_TRACE_INTAKE_MEMORY_LEFT_H
#define CORE_TRACE_INTAKE_MEMORY_LEFT_H

#include <stdbool.h>
#include <stdint.h>

/* Rows that come in, and whether what is to be made of them still fits. All zero but `row_needs` and `row_takes`: bytes
 * that a row needs at most until all is done, and how many of them the rows take as they come in. */
typedef struct memory_guard {
  uint32_t row_needs, row_takes;
  uint64_t rows;
  uint64_t left; /* memory that there was, when it was last looked at */
  bool is_exceeded;
} memory_guard;

/* Counts a row. What there is is the least of what the system says is available (/proc/meminfo), what the control
 * group's limit leaves (version 2; the files' pages that it holds count as free) and what RLIMIT_AS leaves. True once:
 * the rows need more than there is, and the caller is to drop them. */
bool memory_guard_row(memory_guard *self);

#endif
