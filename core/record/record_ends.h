/* Why a program, or a part of it, was not recorded, and what to do: one line each. [loop thread] */
#ifndef CORE_RECORD_RECORD_ENDS_H
#define CORE_RECORD_RECORD_ENDS_H

#include "record_rings.h"

/* Before the program starts: another tool's recorder that is set already. NULL: there is none. */
const char *record_ends_other_tool(void);
/* Says which processes could not be recorded and, where nothing at all was, why that is so. `begun`: the recording was
 * to have begun by then. */
void record_ends_tell(const record_rings *rings, const char *command, bool begun);

/* Says that the hook of --torch has marked no step, where that is so, and why that may be. */
void record_ends_tell_torch(const record_session *session);

#endif
