/* Whether all ranks have the same parameters, bit for bit. */
#ifndef PLUGINS_DDP_SAME_H
#define PLUGINS_DDP_SAME_H

#include <pdhost/scenario_kit.h>

/* Reads all parameters back and waits for the other ranks. A failure names the first rank that differs from rank 0 and
 * says `when`. [loop thread] */
pd_status ddp_same(const pd_kit *kit, const char *when);

#endif
