/*
 * The step-time breakdown of the former TensorBoard plugin: each nanosecond of a step belongs to one class, the first
 * in this order that has an event running then, on any thread or stream. So the classes add up to the step exactly.
 */
#ifndef CORE_FACTS_STEP_PARTS_H
#define CORE_FACTS_STEP_PARTS_H

#include "facts.h"
#include "intervals.h"

enum {
  STEP_KERNEL,
  STEP_MEMCPY,
  STEP_MEMSET,
  STEP_COMMUNICATION,
  STEP_RUNTIME,
  STEP_DATALOADER,
  STEP_CPU_EXEC,
  STEP_OTHER,
  STEP_PART_COUNT
};
#define STEP_PART_NAMES "Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec", "Other"

typedef struct step_parts {
  int64_t *rows;               /* STEP_PART_COUNT per step */
  intervals lists[STEP_OTHER]; /* when each class has an event running, whatever else does; normal */
} step_parts;

/* false on no memory. */
bool step_parts_open(const trace_facts *facts, step_parts *parts);
void step_parts_free(step_parts *parts);

/* Without device records only what is sure of a class is known; the rest of a step follows from what comes before it.
 */
bool step_part_is_known(const trace_facts *facts, uint32_t part);

/* Adds the time of a normal list within each step to that step's row of `rows`, which are `stride` numbers apart. */
void step_parts_add(const trace_facts *facts, const intervals *list, int64_t *rows, size_t stride);

#endif
