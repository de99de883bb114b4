/* See text_width.h. */
#include "text_width.h"

#include <pdhost/text_columns.h>

#include <string.h>

int text_width_of(const char *text, size_t bytes) { return (int)pd_text_columns(text, bytes); }

int text_width(const char *text) { return text_width_of(text, strlen(text)); }
