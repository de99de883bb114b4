/* The verdict of a window as text: a block of labels and sentences, or one line. */
#ifndef SINKS_TABLE_VERDICT_TEXT_H
#define SINKS_TABLE_VERDICT_TEXT_H

#include "text.h"

#include <pdhost/analysis.h>

/* The cell of `key` in the table's only row; NULL: it has none, or it is missing. */
const pd_cell *verdict_cell(const pd_table *table, const char *key);
/* "Verdict  ..." and below it share, step, evidence, other causes and what to try, in `columns`. */
void verdict_block(text *out, const pd_table *table, size_t columns);
/* The first sentence alone, within `columns`: without what it explains where that does not fit. No line break. */
void verdict_line(text *out, const pd_table *table, size_t columns);
/* A command in lines of `columns` that can be pasted: broken between words with a backslash. The first line begins
 * after `indent` columns that are there already. */
void verdict_command(text *out, const char *command, size_t columns, size_t indent);

#endif
