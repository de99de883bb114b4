/* CPU time of this process and of the whole system, from /proc. [loop thread] */
#ifndef CORE_FACTS_PROCESSOR_USE_H
#define CORE_FACTS_PROCESSOR_USE_H

#include <pdhost/plugin.h>

typedef struct proc_sample {
  int64_t elapsed_ns;  /* CLOCK_MONOTONIC */
  int64_t process_ns;  /* user and system time of all threads */
  uint64_t busy, idle; /* clock ticks of all cores since boot */
} proc_sample;

/* Between two samples. */
typedef struct proc_usage {
  int64_t elapsed_ns, process_ns;
  uint64_t busy, idle;
} proc_usage;

/* PD_IO where /proc/stat cannot be read. */
pd_status proc_take(proc_sample *sample);
/* Reads the first line of a /proc/stat: "cpu  user nice system idle iowait ...". */
pd_status proc_parse(const char *line, uint64_t *busy, uint64_t *idle);
proc_usage proc_between(const proc_sample *from, const proc_sample *to);
/* Moves `begin` so that what lies between the two others is not between it and a later one. */
void proc_skip(proc_sample *begin, const proc_sample *from, const proc_sample *to);

#endif
