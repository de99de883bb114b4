/* `pdhost score --traces LABELS DIR`: compares what is said of traces with what is known of them. [loop thread] */
#ifndef CORE_SCORE_TRACE_SCORE_H
#define CORE_SCORE_TRACE_SCORE_H

#include "base/error.h"

typedef struct trace_score_request {
  const char *labels, *folder; /* of the traces */
  const char *answers;         /* another tool's, in the form of labels; NULL: pdhost reads the traces and answers */
  const char *out;             /* folder for answers.jsonl; NULL: none is written */
  bool no_python;              /* as config_input has it */
} trace_score_request;

/* Returns the exit code; `err` is set where it is not CODE_DONE. */
int trace_score(const trace_score_request *request, error *err);

#endif
