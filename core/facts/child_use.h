/* What the program's children, as loader workers are, used in the steps (pd_trace.children). [loop thread] */
#ifndef CORE_FACTS_CHILD_USE_H
#define CORE_FACTS_CHILD_USE_H

#include "facts.h"

/* What one child used between its first and its last sample in the steps. NaN: not known. */
typedef struct child_use {
  uint32_t pid, name;            /* name: string id */
  double processors;             /* processor time by time: 1 is one that is always busy */
  double disk_per_s, read_per_s; /* bytes; as in pd_child_row */
} child_use;

typedef struct child_uses {
  child_use *rows; /* by pid */
  uint32_t count, room;
} child_uses;

/* Children with two samples in the steps. false on no memory. Free it in any case. */
bool child_uses_open(const trace_facts *facts, child_uses *out);
void child_uses_free(child_uses *self);

#endif
