/* What /proc says of another process of the user's. [main thread] */
#ifndef CORE_CLI_LIVE_OTHER_PROCESS_H
#define CORE_CLI_LIVE_OTHER_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* A file of /proc/PID, ended by a NUL. How many bytes; negative: it cannot be read. */
ssize_t other_process_read(long pid, const char *name, char *text, size_t room);
/* 0: not known. */
long other_process_parent(long pid);
/* There is such a process, of any user. */
bool other_process_is_there(long pid);
/* It has started a process. Some systems do not say. */
bool other_process_has_child(long pid);
bool other_process_is_pdhost(long pid);
/* It has a handler for the signal: else the signal might end it. */
bool other_process_hears(long pid, int number);
/* "4711", or a folder of results whose name ends with the number of its process. 0: neither. */
long other_process_named(const char *word);

#endif
