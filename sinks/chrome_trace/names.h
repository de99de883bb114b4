/* All strings of a trace as quoted JSON, made once and copied by every event. [loop thread] */
#ifndef SINKS_CHROME_TRACE_NAMES_H
#define SINKS_CHROME_TRACE_NAMES_H

#include <pdhost/trace.h>

typedef struct name_text {
  const char *quoted; /* with its quotes */
  size_t length;
} name_text;

typedef struct name_table {
  name_text *all;
  name_text *plain;
  char *arena;
  uint64_t count;
} name_table;

/* `cuda_calls`: names of the CPU device's calls (pdLaunchKernel) become CUDA's. PD_NO_MEMORY leaves nothing to free. */
pd_status names_open(name_table *self, const pd_trace *trace, bool cuda_calls);
void names_close(name_table *self);

static inline const name_text *names_at(const name_table *self, uint32_t id) {
  return &self->all[id < self->count ? id : 0];
}

/* For an event's name: where it would have a meaning to readers that the event has not (a scenario's range called
 * ProfilerStep#x makes them refuse the file), a word of it is changed. */
static inline const name_text *names_plain(const name_table *self, uint32_t id) {
  return &self->plain[id < self->count ? id : 0];
}

/* The same of a range: a wait for data is to be known for one. */
const name_text *names_of_range(const name_table *self, const pd_range *range);

#endif
