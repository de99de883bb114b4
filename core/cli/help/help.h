/* Help pages, all made from the option rows: as text and as JSON, on stdout. [loop thread] */
#ifndef CORE_CLI_HELP_HELP_H
#define CORE_CLI_HELP_HELP_H

#include "abi/plugins.h"
#include "base/error.h"

/* One screen. */
void help_print(void);

/* `topic` is NAME[.KEY] of a plugin, or its path; `kind` 0: of any kind. */
pd_status help_plugin(plugins *from, pd_kind kind, const char *topic, bool json, error *err);
/* SECTION[.KEY] of the core. */
pd_status help_section(const char *topic, bool json, error *err);

/* `pdhost help WORDS`: a command, a section, a key, a plugin, a word of the output, an error code or a concept. An
 * unknown topic is CODE_USAGE, with the nearest one. */
pd_status help_topic(char **words, uint32_t count, error *err);

#endif
