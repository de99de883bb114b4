/* Why a program, or a part of it, was not recorded, and what to do: one line each. [loop thread] */
#ifndef CORE_RECORD_RECORD_ENDS_H
#define CORE_RECORD_RECORD_ENDS_H

#include "record_rings.h"

#include "config/config.h"

/* Before the program starts: another tool's recorder that is set already. NULL: there is none. */
const char *record_ends_other_tool(void);
/* Says where the ranges of the program go if another tool is to get them, which stays. `library`: pdhost's own. */
void record_ends_tell_ranges(const char *library);
/* Says which processes could not be recorded and, where nothing at all was, why that is so. `begun`: the recording was
 * to have begun by then. */
void record_ends_tell(const record_rings *rings, const char *command, bool begun);

/* At the end, of a folder in which there is nothing: where nothing was recorded it is removed, if it is the recording's
 * own; else how to get a file is said on standard error. */
void record_ends_folder(const config *settings, bool is_recorded);

/* Says that the hook of --torch has marked no step, where that is so, and why that may be. */
void record_ends_tell_torch(const record_session *session);

#endif
