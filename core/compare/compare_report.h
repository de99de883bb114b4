/* What `pdhost compare` says, in each of its formats, on standard output. [loop thread] */
#ifndef CORE_COMPARE_COMPARE_REPORT_H
#define CORE_COMPARE_COMPARE_REPORT_H

#include "grid.h"
#include "pairs.h"

typedef struct compare_report {
  const samples *from;
  const grids *tables;
  const sample_pairs *pairs;
  bool wide; /* text and Markdown: every figure of every cell */
} compare_report;

/* All but CSV: false on no memory. */
bool compare_report_text(const compare_report *self, bool color);
bool compare_report_markdown(const compare_report *self);
void compare_report_csv(const compare_report *self);
bool compare_report_json(const compare_report *self);

#endif
