/* pdhost --check-plugin FILE: the conformance checks for plugin authors, each in a child process of its own, one line
 * each on stdout. The shipped plugins pass the same list as tests. [loop thread] */
#ifndef CORE_CONFORM_CHECK_PLUGIN_H
#define CORE_CONFORM_CHECK_PLUGIN_H

#include "config/config.h"

/* `device` (NULL: cpu) is what real runs use, by name or path; `plugin_path` may be NULL. The assignments of `input`
 * are keys of the plugin, which stand in place of its defaults, and of the real run. 0 when every check passed or was
 * skipped with a reason, CODE_CONFIG for a mistake in the assignments, else CODE_PLUGIN. */
int check_plugin(const char *path, const char *device, const char *plugin_path, const config_input *input);

#endif
