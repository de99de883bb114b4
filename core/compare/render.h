/* Grids as text for people, Markdown, CSV. [loop thread] */
#ifndef CORE_COMPARE_RENDER_H
#define CORE_COMPARE_RENDER_H

#include "grid.h"

#include <stdio.h>

/* As torch.utils.benchmark.Compare prints: medians in one unit, their significant figures trimmed, wide spreads marked;
 * with `color` the best of each row, or of the only column, and those near and far from it. */
void render_text(const grid *self, bool color, FILE *out);
/* The best of each row is bold. */
void render_markdown(const grid *self, FILE *out);
/* Every figure of every cell below its table: tails and deviations, in the table's unit. False on no memory. */
bool render_wide(const grid *self, bool markdown, FILE *out);
/* A text inside a Markdown table. */
void render_markdown_text(const char *text, FILE *out);
/* A row per cell, times in seconds; the heading row is separate. */
void render_csv_heading(FILE *out);
void render_csv(const grid *self, const samples *from, FILE *out);
/* One field of CSV, quoted where it has to be. */
void render_csv_field(const char *text, FILE *out);

#endif
