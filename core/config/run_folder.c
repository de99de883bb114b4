/* See run_folder.h. */
#include "run_folder.h"

#include "base/log.h"

#include <pdhost/clocks.h>

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char own_name[RUN_FOLDER_NAME];
static char folder[PATH_MAX]; /* filled in; settings borrow it */

const char *run_folder_name(void) {
  const int64_t now_ms = pd_clock_ns(CLOCK_REALTIME) / 1000000;
  const time_t now_s = (time_t)(now_ms / 1000);
  struct tm parts;
  char text[32] = "";
  if (own_name[0]) return own_name;
  if (localtime_r(&now_s, &parts)) (void)strftime(text, sizeof text, "%Y%m%dT%H%M%S", &parts);
  (void)snprintf(own_name, sizeof own_name, "%s.%03d-%ld", text, (int)(now_ms % 1000), (long)getpid());
  return own_name;
}

void run_folder_share(const char *name) {
  (void)snprintf(own_name, sizeof own_name, "%.*s", RUN_FOLDER_NAME - 1, name);
}

/* Writes `from` with every `mark` replaced; false: it does not fit. */
static bool replace(const char *from, const char *mark, const char *by, size_t by_bytes, char to[PATH_MAX]) {
  const size_t mark_bytes = strlen(mark);
  size_t used = 0;
  while (*from) {
    const bool is_mark = strncmp(from, mark, mark_bytes) == 0;
    const size_t bytes = is_mark ? by_bytes : 1;
    if (used + bytes >= PATH_MAX) return false;
    memcpy(to + used, is_mark ? by : from, bytes);
    used += bytes;
    from += is_mark ? mark_bytes : 1;
  }
  to[used] = '\0';
  return true;
}

void run_folder_fill(config *settings) {
  char with_time[PATH_MAX];
  const char *name = run_folder_name(), *pid = strrchr(name, '-') + 1;
  if (replace(settings->run.trace_dir, "<time>", name, (size_t)(pid - name) - 1, with_time) &&
      replace(with_time, "<pid>", pid, strlen(pid), folder))
    settings->run.trace_dir = folder;
}

/* How many bytes of a folder of the run's own come before its name; -1: the folder is not the run's own. */
static int bytes_before(const config *settings) {
  const char *slash = strrchr(settings->run.trace_dir, '/');
  const int before = slash ? (int)(slash - settings->run.trace_dir) + 1 : 0;
  return strcmp(settings->run.trace_dir + before, run_folder_name()) == 0 ? before : -1;
}

const char *run_folder_above(const config *settings) {
  static char path[PATH_MAX];
  const int before = bytes_before(settings);
  if (before < 0) return NULL;
  (void)snprintf(path, sizeof path, "%.*s", before > 1 ? before - 1 : before, settings->run.trace_dir);
  return path[0] ? path : ".";
}

void run_folder_point(const config *settings) {
  char link[PATH_MAX + 16], fresh[PATH_MAX + 64];
  const char *name = run_folder_name();
  const int before = bytes_before(settings);
  if (before < 0) return;
  (void)snprintf(link, sizeof link, "%.*slatest", before, settings->run.trace_dir);
  (void)snprintf(fresh, sizeof fresh, "%s.%ld.partial", link, (long)getpid());
  (void)unlink(fresh);
  /* Renamed, so that it leads somewhere at any time. A folder of that name is the user's. */
  if (symlink(name, fresh) == 0 && rename(fresh, link) == 0) return;
  log_line(PD_LOG_INFO, NULL, "%s: cannot be made to lead to this run: %s", link, strerror(errno));
  (void)unlink(fresh);
}
