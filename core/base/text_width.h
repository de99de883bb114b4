/* How many columns of a terminal a text takes, as pdhost/text_columns.h counts them. [any thread] */
#ifndef CORE_BASE_TEXT_WIDTH_H
#define CORE_BASE_TEXT_WIDTH_H

#include <stddef.h>

int text_width(const char *text);
/* The width of its first `bytes`. */
int text_width_of(const char *text, size_t bytes);

#endif
