/* pdhost --list: every plugin of the search folders, each opened in a child process, and whether a
 * device can be used here, tried in another. [main thread] */
#ifndef CORE_CLI_LIST_H
#define CORE_CLI_LIST_H

#include "abi/plugins.h"
#include "base/error.h"

/* `what`: "scenarios", "sinks", "devices", "causes", "metrics", or NULL: all plugins, and with `json` all of these.
 * Prints on stdout. A rejected file is no failure of the list. */
pd_status list_print(const plugins *from, const char *what, bool json, error *err);

#endif
