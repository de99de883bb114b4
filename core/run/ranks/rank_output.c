/* See rank_output.h. */
#include "rank_output.h"

#include "rank_group.h"

#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void rank_output_take(const char *trace_dir, bool goes_on) {
  char path[PATH_MAX];
  uint32_t rank;
  if (!rank_group_found(&rank) || rank == 0) return;
  (void)snprintf(path, sizeof path, "%s/rank%u_output.txt", trace_dir, rank);
  int file = open(path, O_WRONLY | O_CREAT | O_APPEND | (goes_on ? 0 : O_TRUNC) | O_CLOEXEC, 0666);
  if (file < 0) {
    log_line(PD_LOG_WARN, NULL, "%s: cannot be written: %s", path, strerror(errno));
    file = open("/dev/null", O_WRONLY | O_CLOEXEC);
  }
  (void)fflush(stdout);
  if (file >= 0) (void)dup2(file, STDOUT_FILENO);
  if (file >= 0) (void)close(file);
}
