/* The devices of a window, and what they are called. */
#ifndef CORE_TABLES_DEVICES_H
#define CORE_TABLES_DEVICES_H

#include "tables.h"

enum { DEVICES_MOST = 64 };

/* Every device with work in the trace, in the order of their streams, and the window's own, which may have been idle
 * for the whole window. None without device records: it is not known what it did. Returns how many. */
uint32_t devices_list(const table_work *work, uint32_t devices[DEVICES_MOST]);

/* "GPU0"; NULL on no memory. */
const char *devices_name(const table_work *work, uint32_t device);

/* Whether the lists of step_parts are this device's alone. */
bool devices_is_only(const table_work *work, uint32_t device);

#endif
