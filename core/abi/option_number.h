/* The numbers of option rows, with their units. [any thread] */
#ifndef CORE_ABI_OPTION_NUMBER_H
#define CORE_ABI_OPTION_NUMBER_H

#include "option.h"

/* As option_parse, for a row of a number. */
bool option_number_take(const pd_option *row, const char *text, option_value *value, char *why, size_t room);
/* The same without a look at the bounds. */
bool option_number_parse(const pd_option *row, const char *text, option_value *value, char *why, size_t room);
/* Whether the row's unit is one that its type can have; true where it needs none. */
bool option_number_knows_unit(const pd_option *row);

#endif
