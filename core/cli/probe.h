/* Whether a device can be used on this machine: opened in a child process, so that no context is left here and a driver
 * that crashes does no harm. [main thread; no other thread exists yet] */
#ifndef CORE_CLI_PROBE_H
#define CORE_CLI_PROBE_H

#include <stdbool.h>
#include <stddef.h>

/* `device` is a name or a path; `folders` as in plugins_open. `said` gets the device's own name, or why it cannot be
 * used. */
bool probe_device(const char *folders, const char *device, char *said, size_t room);

#endif
