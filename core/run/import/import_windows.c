/* See import_windows.h. */
#include "import_windows.h"

#include "base/signals.h"
#include "run/run_parts.h"
#include "trace/trace_memory.h"

int import_windows(config *settings, const import_request *request, const char *path, import_window *take, void *user) {
  services all = {.files = files_open()};
  if (!all.files) return run_parts_report(NULL, PD_NO_MEMORY, path, CODE_INTERNAL);
  trace_return_large_blocks();
  signals_install(NULL, NULL);
  int code = import_file(&all, settings, request, path, take, user);
  if (signals_pending()) code = 128 + signals_pending();
  signals_restore();
  files_close(all.files);
  return code;
}
