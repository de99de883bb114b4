/* Verdicts of a check, made in its child. See check_list.h. */
#include "check_list.h"

#include <dirent.h>
#include <stdio.h>
#include <time.h>

enum { THREAD_WAIT_MS = 500 };

check_verdict check_ok(void) { return (check_verdict){.outcome = CHECK_OK}; }

check_verdict check_verdict_of(check_outcome outcome, const char *format, ...) {
  check_verdict verdict = {.outcome = outcome};
  va_list args;
  va_start(args, format);
  vsnprintf(verdict.why, sizeof verdict.why, format, args);
  va_end(args);
  return verdict;
}

void check_progress(const check_target *target, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(target->progress, CHECK_PROGRESS_BYTES, format, args);
  va_end(args);
}

uint32_t check_thread_count(void) {
  uint32_t count = 0;
  DIR *tasks = opendir("/proc/self/task");
  if (!tasks) return 0;
  for (const struct dirent *entry; (entry = readdir(tasks));) count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

/* A joined thread leaves /proc a moment after pthread_join has returned. */
check_verdict check_threads_gone(uint32_t before) {
  const struct timespec pause = {.tv_nsec = 1000000};
  uint32_t now = check_thread_count();
  for (int waited = 0; now > before && waited < THREAD_WAIT_MS; waited++) {
    nanosleep(&pause, NULL);
    now = check_thread_count();
  }
  if (now <= before) return check_ok();
  return check_verdict_of(CHECK_FAILED, "%u thread%s left running", now - before, now - before == 1 ? "" : "s");
}
