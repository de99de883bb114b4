/* Options as JSON. [loop thread] */
#ifndef CORE_CLI_HELP_HELP_JSON_H
#define CORE_CLI_HELP_HELP_JSON_H

#include "base/json_text.h"

#include <pdhost/plugin.h>

/* NULL on no memory. */
json_t *help_json_row(const pd_option *row);
json_t *help_json_rows(const pd_option *rows, uint32_t count);

#endif
