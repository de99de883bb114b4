/* Option rows as JSON on stdout, for editors and documents. */
#ifndef CORE_CLI_HELP_HELP_JSON_H
#define CORE_CLI_HELP_HELP_JSON_H

#include <pdhost/plugin.h>

/* `"text"` with escapes; null for NULL. */
void help_json_text(const char *text);
/* One row as an object. */
void help_json_row(const pd_option *row);

#endif
