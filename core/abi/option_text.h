/* What an option row allows, in words, for messages and for help. [any thread] */
#ifndef CORE_ABI_OPTION_TEXT_H
#define CORE_ABI_OPTION_TEXT_H

#include "option.h"

bool option_text_is_number(pd_type type);
/* "a, b, c" */
void option_text_choices(const pd_option *row, char *text, size_t room);
/* As option_allowed; `with_unit`: also what bare numbers are in. Returns `text`. */
const char *option_text_allowed(const pd_option *row, bool with_unit, char *text, size_t room);
/* Copies `text` to `why`. Returns false. */
bool option_text_refuse(char *why, size_t room, const char *text);

#endif
