/* Help pages, all made from the option rows: as text and as JSON, on stdout. [loop thread] */
#ifndef CORE_HOST_HELP_H
#define CORE_HOST_HELP_H

#include "error.h"
#include "plugins.h"

/* One screen. */
void help_print(void);

/* `topic` is NAME[.KEY] of a plugin, or its path; `kind` 0: of any kind. */
pd_status help_plugin(plugins *from, pd_kind kind, const char *topic, bool json, error *err);
/* SECTION[.KEY] of the core. */
pd_status help_section(const char *topic, bool json, error *err);

#endif
