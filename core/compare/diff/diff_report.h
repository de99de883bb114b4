/* What `pdhost diff` prints, on standard output. [main thread] */
#ifndef CORE_COMPARE_DIFF_REPORT_H
#define CORE_COMPARE_DIFF_REPORT_H

#include "diff_rows.h"

enum { DIFF_REPORT_BYTES = 2048 }; /* of a sentence */
/* What changed and what explains it, in one sentence, without the verdict's word; what the reader has to know of it. */
void diff_report_sentence(const difference *self, char *text, size_t room);
void diff_report_notes(const difference *self, void (*tell)(void *user, const char *text), void *user);
/* At most 80 columns; rows that change by less than DIFF_REPORT_LEAST of A's step are left out. */
#define DIFF_REPORT_LEAST 0.005
void diff_report_text(const difference *self, bool color);
/* False on no memory. */
bool diff_report_json(const difference *self);

#endif
