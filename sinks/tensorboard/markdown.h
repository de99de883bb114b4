/* A growing text of Markdown: tables whose cells cannot break out of their row. Out of memory sticks. [loop thread] */
#ifndef SINKS_TENSORBOARD_MARKDOWN_H
#define SINKS_TENSORBOARD_MARKDOWN_H

#include <pdhost/sink.h>

typedef struct markdown {
  char *text; /* NUL-terminated once something was added */
  size_t bytes, room;
  bool failed;
} markdown;

void markdown_free(markdown *self);
void markdown_add(markdown *self, const char *format, ...) PD_PRINTF(2, 3);

/* All of a table of the analysis, at most `row_limit` rows of it. */
void markdown_table(markdown *self, const pd_table *table, uint64_t row_limit);
void markdown_settings(markdown *self, const pd_run *run);
void markdown_summary(markdown *self, const pd_run *run, const pd_summary *summary);

#endif
