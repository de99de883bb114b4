/* What devices and calls took of a second, as lines of `pdhost top`. [main thread] */
#ifndef CORE_CLI_LIVE_TOP_SHARES_H
#define CORE_CLI_LIVE_TOP_SHARES_H

#include "record/record_live.h"

#include <stdio.h>

enum { TOP_NAME_WIDTH = 18 }; /* what the figures of all lines stand after */

/* Shares of devices are there only where a device worked. */
void top_shares_print(const record_live_second *of, FILE *out);

#endif
