/* What the processors have used, by the counters of the system's powercap (RAPL of Intel and AMD), which on most
 * systems root alone may read. [one thread at a time] */
#ifndef CORE_RUN_POWERCAP_H
#define CORE_RUN_POWERCAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No package uses more: a counter may have begun anew more than once in a time in which this much is its whole range.
 */
#define POWERCAP_MOST_W 1000

enum { POWERCAP_PACKAGES = 16, POWERCAP_FAULT_ROOM = 512 };

/* The counters of all packages, in the order of their numbers. */
typedef struct powercap_count {
  uint64_t uj[POWERCAP_PACKAGES], range_uj[POWERCAP_PACKAGES]; /* a counter begins anew after its range */
  uint32_t count;
} powercap_count;

/* `folder` as the system's, [profile] powercap_dir. False: there is no package, and `why` is ""; or one cannot be read,
 * and `why` names the file. */
bool powercap_read(const char *folder, powercap_count *out, char *why, size_t room);

/* Joules between two readings that lie `seconds` apart. 0: not known, since packages came or went, or a counter may
 * have begun anew more than once. */
double powercap_joules(const powercap_count *from, const powercap_count *to, double seconds);

#endif
