/* A JUnit file, which GitHub, GitLab and Jenkins show beside a change: a test for each thing that was compared.
 * [loop thread] */
#ifndef CORE_COMPARE_GATE_JUNIT_H
#define CORE_COMPARE_GATE_JUNIT_H

#include "base/error.h"
#include "compare/comparison.h"

enum { JUNIT_NAME_BYTES = 1024, JUNIT_MESSAGE_BYTES = 2560 };

typedef struct junit_case {
  char name[JUNIT_NAME_BYTES];
  char message[JUNIT_MESSAGE_BYTES]; /* a sentence: what was found */
  outcome verdict;
  double time_s; /* of the newer side; NaN: not known */
} junit_case;

/* As --gate judges: SLOWER is a failure, UNCLEAR an error, SAME and FASTER pass. `suite` is what compared ("compare").
 * Replaces `path` whole, and says so on standard error. On failure `err` is set. */
pd_status junit_write(const char *path, const char *suite, const junit_case *cases, uint32_t count, error *err);

#endif
