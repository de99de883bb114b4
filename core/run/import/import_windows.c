/* See import_windows.h. */
#include "import_windows.h"

#include "base/signals.h"
#include "capture/capture_read.h"
#include "run/run_parts.h"
#include "run/run_replay.h"

#include <fcntl.h>
#include <unistd.h>

bool import_is_capture(const char *path) {
  capture_file_head head;
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const ssize_t bytes = file >= 0 ? read(file, &head, sizeof head) : 0;
  if (file >= 0) close(file);
  if (bytes <= 0 || !capture_probe(&head, (uint64_t)bytes)) return false;
  return bytes < (ssize_t)sizeof head || head.origin != CAPTURE_OF_PROGRAM;
}

static int windows_of_trace(config *settings, const import_request *request, const char *path, import_window *take,
                            void *user) {
  services all = {.files = files_open()};
  if (!all.files) return run_parts_report(NULL, PD_NO_MEMORY, path, CODE_INTERNAL);
  const int code = import_file(&all, settings, request, path, take, user);
  files_close(all.files);
  return code;
}

int import_windows(config *settings, const import_request *request, const char *path, import_window *take, void *user) {
  const replay_request replay = {
      .path = path, .settings = settings, .quiet = settings->quiet, .take = take, .user = user};
  signals_install(NULL, NULL);
  int code = !request->reader && import_is_capture(path) ? replay_run(&replay)
                                                         : windows_of_trace(settings, request, path, take, user);
  if (signals_pending()) code = 128 + signals_pending();
  signals_restore();
  return code;
}
