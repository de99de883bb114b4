/* What Callgrind counted on two sides, against each other: instructions do not vary as times do, so there is nothing to
 * test. [any thread] */
#ifndef CORE_COMPARE_INSTRUCTION_CHANGE_H
#define CORE_COMPARE_INSTRUCTION_CHANGE_H

#include "measure/instructions.h"

/* A function's own instructions of a step on both sides; 0 where it is not among those kept. */
typedef struct function_change {
  const char *name, *object; /* borrowed */
  double a, b;
} function_change;

enum { CHANGES_MOST = 5 };

typedef struct instruction_change {
  instruction_figures a, b; /* of a step */
  double ratio;             /* of the medians; 0: A's is zero */
  bool within;              /* the two sides differ by no more than the counts of one of them do */
  /* Those that changed by the most, from the most down, and by more than a hundredth of A's step. */
  function_change functions[CHANGES_MOST];
  uint32_t function_count;
} instruction_change;

/* False: a side was not counted. */
bool instruction_change_of(const pd_instructions *a, const pd_instructions *b, instruction_change *out);

/* "instructions of a step: 5,081,179 -> 20,290,631 (+15,209,452), 3.9933 times as many" */
const char *instruction_change_text(const instruction_change *self, char *text, size_t room);
/* "+11,200 (9,800 -> 21,000)  run_mul [cpu.so]" */
const char *function_change_text(const function_change *self, char *text, size_t room);

#endif
