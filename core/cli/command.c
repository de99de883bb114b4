/* See command.h. */
#include "command.h"

#include "base/error.h"
#include "base/log.h"
#include "base/self_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void command_begin(void) {
  self_path_begin();
  /* Opened the wrong way round, so that reading or printing there fails. */
  static const int flags[] = {O_WRONLY, O_RDONLY, O_RDWR};
  for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
    if (fcntl(i, F_GETFD) < 0 && open("/dev/null", flags[i]) < 0) return; /* the lowest that is closed: i */
}

int command_end(int code) {
  log_flush_repeats();
  errno = 0;
  if ((fflush(stdout) == 0 && !ferror(stdout)) || code != CODE_DONE || errno == EPIPE) return code;
  error_line_print(FAULT_OUTPUT, NULL, "standard output: %s", strerror(errno));
  return CODE_OUTPUT;
}
