/* pdhost --list: every plugin of the search folders, each opened in a child process. */
#ifndef CORE_CLI_LIST_H
#define CORE_CLI_LIST_H

#include "host/error.h"
#include "host/plugins.h"

/* `what`: "scenarios", "sinks", "devices", or NULL for all. Prints on stdout. A rejected file is no failure of the
 * list. */
pd_status list_print(const plugins *from, const char *what, error *err);

#endif
