/* The windows of a file for whoever wants them as they are: of a trace that another program wrote, or of the capture of
 * a run. No sink is opened. [loop thread] */
#ifndef CORE_RUN_IMPORT_WINDOWS_H
#define CORE_RUN_IMPORT_WINDOWS_H

#include "import_file.h"

/* `settings` was loaded with config_input.is_analysis. Prints its errors. Returns the exit code, or what `take`
 * returned where that ended it. */
int import_windows(config *settings, const import_request *request, const char *path, import_window *take, void *user);

#endif
