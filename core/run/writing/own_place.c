/* See own_place.h. The folder is held open: its name may change, and its parents need not be readable. */
#include "own_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static int folder = -1; /* -1: not kept */
static mode_t mask;

void own_place_keep(void) {
  own_place_forget();
  mask = umask(0);
  (void)umask(mask);
  folder = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void own_place_return(void) {
  if (folder < 0) return;
  (void)umask(mask);
  const int returned = fchdir(folder);
  (void)returned; /* a folder that was removed takes no file, and what is written says so */
}

void own_place_forget(void) {
  if (folder >= 0) (void)close(folder);
  folder = -1;
}
