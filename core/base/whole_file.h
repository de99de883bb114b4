/* A file read at once. [any thread] */
#ifndef CORE_BASE_WHOLE_FILE_H
#define CORE_BASE_WHOLE_FILE_H

#include <pdhost/plugin.h>

/* `kind` is what the file ought to be, for the message that it is larger than `most` bytes ("measurements"). *text is
 * to be freed. On failure it is NULL and `why` is one line that names the file: PD_IO, PD_INVALID too large,
 * PD_NO_MEMORY.
 */
pd_status whole_file_read(const char *path, const char *kind, size_t most, char **text, size_t *bytes, char *why,
                          size_t room);

#endif
