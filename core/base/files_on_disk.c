/* Folders and temporary names; see files.h. */
#include "files.h"

#include "log.h"

#include <pdhost/thread_start.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

pd_status files_make_folder(const char *path, char *message, size_t message_bytes) {
  char *copy = strdup(path);
  if (!copy) {
    snprintf(message, message_bytes, "%s: out of memory", path);
    return PD_NO_MEMORY;
  }
  pd_status status = PD_OK;
  for (char *at = copy + (copy[0] == '/');; at++) {
    if (*at != '/' && *at != '\0') continue;
    const char kept = *at;
    *at = '\0';
    struct stat info;
    if (copy[0] && mkdir(copy, 0777) != 0) {
      const int cause = errno;
      if (stat(copy, &info) != 0 || !S_ISDIR(info.st_mode)) {
        snprintf(message, message_bytes, "%s: folder cannot be made: %s", copy,
                 cause == EEXIST ? "a file of that name is in the way" : strerror(cause));
        status = PD_IO;
      }
    }
    *at = kept;
    if (status != PD_OK || kept == '\0') break;
  }
  free(copy);
  return status;
}

char *files_path_on_disk(const char *path) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char *given = slash ? strndup(path, (size_t)(name - path)) : strdup("."), *made = NULL;
  char *folder = given ? realpath(given, NULL) : NULL;
  if (asprintf(&made, "%s/%s", folder ? folder : given ? given : "", name) < 0) made = NULL;
  free(folder);
  free(given);
  return made;
}

int files_open_temporary(const char *path, char **temporary) {
  static atomic_uint opened;
  int descriptor;
  *temporary = NULL;
  do { /* a name that is taken is of a run that crashed, or of one in another container */
    free(*temporary);
    if (asprintf(temporary, "%s.%ld-%u.partial", path, (long)getpid(), atomic_fetch_add(&opened, 1)) < 0) {
      *temporary = NULL;
      errno = ENOMEM;
      return -1;
    }
    descriptor = open(*temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0) {
    const int cause = errno;
    free(*temporary);
    *temporary = NULL;
    errno = cause;
  }
  return descriptor;
}

FILE *files_open_stream(const char *path, char **temporary) {
  const int descriptor = files_open_temporary(path, temporary);
  FILE *out = descriptor >= 0 ? fdopen(descriptor, "w") : NULL;
  if (out || descriptor < 0) return out;
  close(descriptor);
  unlink(*temporary);
  free(*temporary);
  *temporary = NULL;
  return NULL;
}

/* A file system that cannot is none of the file's faults. */
static bool force(int descriptor) { return fdatasync(descriptor) == 0 || errno == EINVAL || errno == EROFS; }

bool files_end_stream(FILE *out, bool whole, const char *path, char *temporary) {
  int cause = ferror(out) ? errno : ENOMEM;
  whole = !ferror(out) && whole;
  if (whole && (fflush(out) != 0 || !force(fileno(out)))) {
    cause = errno;
    whole = false;
  }
  if (fclose(out) != 0 && whole) {
    cause = errno;
    whole = false;
  }
  if (whole && rename(temporary, path) != 0) {
    cause = errno;
    whole = false;
  }
  if (!whole) unlink(temporary);
  free(temporary);
  errno = cause;
  return whole;
}

void files_remove_beginning_with(const char *path, const char *beginning) {
  const char *slash = strrchr(path, '/');
  char *folder = slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
  const char *name = slash ? slash + 1 : path;
  const size_t bytes = strlen(name), more = strlen(beginning);
  DIR *all = folder ? opendir(folder) : NULL;
  for (const struct dirent *entry; all && (entry = readdir(all));) {
    const char *at = entry->d_name, *end = strrchr(at, '.');
    if (strncmp(at, name, bytes) != 0 || strncmp(at + bytes, beginning, more) != 0) continue;
    if (end && strcmp(end, ".partial") == 0) (void)unlinkat(dirfd(all), at, 0);
  }
  if (all) closedir(all);
  free(folder);
}

/* ---- to the disk ---- */

enum { FORCING_THREADS = 16 };

typedef struct forcing {
  char *const *paths, *const *more;
  uint32_t count, more_count;
  atomic_uint next;
} forcing;

static void tell_unforced(const char *path) {
  log_line(PD_LOG_WARN, NULL, "%s: cannot be forced to the disk: %s", path, strerror(errno));
}

/* A device or a pipe holds nothing. Opened without waiting for its other end. */
static void force_path(const char *path, int flags) {
  struct stat info;
  const int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags);
  if (descriptor < 0) {
    if (errno != ENOENT) tell_unforced(path); /* ENOENT: somebody took it away */
    return;
  }
  const bool is_kept = fstat(descriptor, &info) == 0 && (S_ISREG(info.st_mode) || S_ISDIR(info.st_mode));
  if (is_kept && !force(descriptor)) tell_unforced(path);
  (void)close(descriptor);
}

/* NULL: there are no more. */
static const char *path_at(const forcing *self, uint32_t index) {
  if (index < self->count) return self->paths[index];
  return index - self->count < self->more_count ? self->more[index - self->count] : NULL;
}

static void *force_files(void *given) {
  forcing *self = given;
  for (const char *path; (path = path_at(self, atomic_fetch_add(&self->next, 1)));) force_path(path, 0);
  return NULL;
}

/* The folder that a path names a file of, malloc'ed; NULL on no memory. */
static char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? strndup(path, (size_t)(slash - path) + 1) : strdup("./");
}

void files_force_paths(char *const *paths, uint32_t count, char *const *more, uint32_t more_count) {
  pthread_t threads[FORCING_THREADS - 1];
  forcing all = {.paths = paths, .more = more, .count = count, .more_count = more_count};
  const uint32_t every = count + more_count;
  uint32_t started = 0;
  char *before = NULL;
  while (started + 1 < FORCING_THREADS && started + 1 < every &&
         pd_thread_start(&threads[started], force_files, &all) == 0)
    started++;
  (void)force_files(&all);
  while (started) (void)pthread_join(threads[--started], NULL);
  for (uint32_t i = 0; i < every; i++) { /* files of a folder mostly follow each other */
    char *folder = folder_of(path_at(&all, i));
    if (folder && !(before && strcmp(before, folder) == 0)) force_path(folder, O_DIRECTORY);
    free(before);
    before = folder;
  }
  free(before);
}

static atomic_uint under_way; /* threads that force_soon runs on */

static void *force_soon(void *given) {
  int *descriptor = given;
  (void)sync_file_range(*descriptor, 0, 0, SYNC_FILE_RANGE_WRITE);
  (void)close(*descriptor);
  free(descriptor);
  (void)atomic_fetch_sub(&under_way, 1);
  return NULL;
}

/* The system makes whoever asks for it wait while the disk is busy: that is a thread of its own, but for files that
 * come while many are on their way. */
void files_force_soon(int descriptor) {
  pthread_t thread;
  int *copy = atomic_load(&under_way) < FORCING_THREADS ? malloc(sizeof *copy) : NULL;
  if (!copy) return;
  (void)atomic_fetch_add(&under_way, 1);
  *copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (*copy >= 0 && pd_thread_start(&thread, force_soon, copy) == 0) {
    (void)pthread_detach(thread);
    return;
  }
  (void)atomic_fetch_sub(&under_way, 1);
  if (*copy >= 0) (void)close(*copy);
  free(copy);
}
