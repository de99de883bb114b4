/* What pdhost, and the rules of other tools, say of traces. [loop thread] */
#ifndef CORE_SCORE_TRACE_ANSWERS_H
#define CORE_SCORE_TRACE_ANSWERS_H

#include "labels.h"
#include "score/rivals/rivals.h"

typedef struct trace_answer {
  label said; /* cause "withheld": `why` says it; "failed": the file could not be read */
  const char *why;
  const char *rivals[RIVAL_COUNT]; /* NULL: the file could not be read */
} trace_answer;

typedef struct trace_answers {
  trace_answer *all; /* in the order of the labels */
  arena texts;
} trace_answers;

/* Reads every trace that has a label; `no_python`: as config_input has it. False: nothing could be started, `err` says
 * why. Free it in any case. */
bool trace_answers_make(const labels *of, const char *folder, bool no_python, trace_answers *out, error *err);
void trace_answers_free(trace_answers *self);

#endif
