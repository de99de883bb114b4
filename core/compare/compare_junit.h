/* A comparison as a JUnit file: a test for each task that both sides have, and for each that one side lacks. [loop
 * thread] */
#ifndef CORE_COMPARE_COMPARE_JUNIT_H
#define CORE_COMPARE_COMPARE_JUNIT_H

#include "compare_report.h"

/* `suite` is the command that compared. On failure `err` is set. */
pd_status compare_junit_write(const compare_report *self, const char *suite, const char *path, error *err);

#endif
