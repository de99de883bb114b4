/* What `pdhost check` prints. */
#ifndef CORE_CHECK_CHECK_REPORT_H
#define CORE_CHECK_CHECK_REPORT_H

#include "check_file.h"

/* `together` has the findings of all files together; its counts are 0 where only one was read. `skipped`: files of
 * folders that are not traces.
 */
void check_report_text(const check_file *files, uint32_t count, const check_findings *together, uint32_t skipped);
/* One JSON object. False: no memory. */
bool check_report_json(const check_file *files, uint32_t count, const check_findings *together, uint32_t skipped);

#endif
