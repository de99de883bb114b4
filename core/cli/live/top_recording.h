/* What `pdhost top` shows of a program under `pdhost record`. [main thread] */
#ifndef CORE_CLI_LIVE_TOP_RECORDING_H
#define CORE_CLI_LIVE_TOP_RECORDING_H

#include "record/record_live.h"

#include <stdio.h>

/* The whole view; `now_realtime_ns`: CLOCK_REALTIME. */
void top_recording_print(const record_live *of, int64_t now_realtime_ns, FILE *out);

#endif
