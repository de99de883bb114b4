/* See shared_file.h. */
#include "shared_file.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

int shared_file_make(const char *name, uint64_t bytes) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes) return -1;
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, (off_t)bytes) == 0) return file;
  (void)close(file);
  return -1;
}
