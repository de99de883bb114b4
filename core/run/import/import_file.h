/* One file through its reader: every window as a pd_trace with steps. */
#ifndef CORE_RUN_IMPORT_FILE_H
#define CORE_RUN_IMPORT_FILE_H

#include "import.h"
#include "abi/services.h"

#include <pdhost/trace.h>

/* One window; the trace is freed when it returns. Returns an exit code; anything but CODE_DONE ends the reading. */
typedef int import_window(void *user, const char *path, pd_trace *trace);

/* Prints its errors. Returns the exit code. */
int import_file(const services *all, config *settings, const import_request *request, const char *path,
                import_window *take, void *user);

#endif
