/* See record_session.h. */
#include "record_session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A ring holds what a process records while the supervisor is kept from reading: some seconds of a busy one. */
enum { RING_BLOCKS = 256 };
#define NAME "pdhost-record-" /* how the folder's name begins */
/* A file system with less would be full soon; a container's /dev/shm often is. */
#define ROOM_WANTED (UINT64_C(256) << 20)

static bool has_room(const char *folder) {
  struct statvfs about;
  return statvfs(folder, &about) == 0 && (uint64_t)about.f_bavail * about.f_frsize >= ROOM_WANTED &&
         access(folder, W_OK | X_OK) == 0;
}

static const char *other_place(void) {
  const char *temporary = getenv("TMPDIR");
  return temporary && *temporary && strlen(temporary) < 128 ? temporary : "/tmp";
}

static const char *place(void) { return has_room("/dev/shm") ? "/dev/shm" : other_place(); }

/* A new one's mark is set once it is locked and whole. */
static record_board *make_board(const char *folder, int *lock) {
  char path[320];
  (void)snprintf(path, sizeof path, "%s/" RECORD_BOARD_FILE, folder);
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return NULL;
  record_board *at = MAP_FAILED;
  if ((errno = posix_fallocate(fd, 0, (off_t)sizeof *at)) == 0)
    at = mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at != MAP_FAILED) {
    at->locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    *lock = fd;
    return at;
  }
  const int why = errno;
  (void)close(fd);
  errno = why;
  return NULL;
}

static void remove_folder(const char *path) {
  DIR *folder = opendir(path);
  for (const struct dirent *entry; folder && (entry = readdir(folder));)
    if (entry->d_name[0] != '.') (void)unlinkat(dirfd(folder), entry->d_name, 0);
  if (folder) (void)closedir(folder);
  (void)rmdir(path);
}

/* ---- what killed processes have left ---- */

/* Its programs stop recording when they see the order; who has the lock has not been killed. */
static bool is_left(int fd) {
  record_board head;
  const size_t bytes = offsetof(record_board, cupti);
  const uint32_t order = RECORD_STOP;
  return pread(fd, &head, bytes, 0) == (ssize_t)bytes && head.mark == RECORD_MARK && head.version == RECORD_VERSION &&
         head.locked && flock(fd, LOCK_EX | LOCK_NB) == 0 &&
         pwrite(fd, &order, sizeof order, offsetof(record_board, order)) == (ssize_t)sizeof order;
}

static void clear(const char *place) {
  struct stat about;
  DIR *folder = opendir(place);
  for (const struct dirent *entry; folder && (entry = readdir(folder));) {
    char path[512];
    if (strncmp(entry->d_name, NAME, sizeof NAME - 1) != 0) continue;
    (void)snprintf(path, sizeof path, "%s/%s/" RECORD_BOARD_FILE, place, entry->d_name);
    const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    *strrchr(path, '/') = '\0';
    if (fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) && about.st_uid == geteuid() && is_left(fd) &&
        lstat(path, &about) == 0 && S_ISDIR(about.st_mode) && about.st_uid == geteuid())
      remove_folder(path);
    if (fd >= 0) (void)close(fd);
  }
  if (folder) (void)closedir(folder);
}

pd_status record_session_open(record_session *self, const char *cupti, error *err) {
  *self = (record_session){.board = NULL, .lock = -1};
  clear("/dev/shm");
  clear(other_place());
  (void)snprintf(self->folder, sizeof self->folder, "%s/" NAME "XXXXXX", place());
  if (!mkdtemp(self->folder)) {
    const int why = errno;
    self->folder[0] = '\0';
    return error_set(err, PD_IO, CODE_OUTPUT, "%s: no folder can be made there: %s; set TMPDIR to another place",
                     place(), strerror(why));
  }
  self->board = make_board(self->folder, &self->lock);
  if (!self->board) {
    error_set(err, PD_IO, CODE_OUTPUT, "%s: %s; set TMPDIR to another place", self->folder, strerror(errno));
    record_session_close(self);
    return PD_IO;
  }
  self->board->ring_blocks = RING_BLOCKS;
  if (cupti) (void)snprintf(self->board->cupti, sizeof self->board->cupti, "%s", cupti);
  self->board->version = RECORD_VERSION;
  atomic_thread_fence(memory_order_release);
  self->board->mark = RECORD_MARK;
  return PD_OK;
}

void record_session_close(record_session *self) {
  if (self->folder[0]) remove_folder(self->folder);
  if (self->board) {
    (void)munmap(self->board, sizeof *self->board);
    (void)close(self->lock);
  }
  *self = (record_session){.board = NULL, .lock = -1};
}

void record_session_order(record_session *self, record_order order) {
  atomic_store_explicit(&self->board->order, (uint32_t)order, memory_order_release);
}

uint32_t record_session_count(const record_session *self) {
  const uint32_t taken = atomic_load_explicit(&self->board->taken, memory_order_relaxed);
  return taken < RECORD_SLOTS ? taken : RECORD_SLOTS;
}

uint32_t record_session_begun(const record_session *self) {
  return atomic_load_explicit(&self->board->begun, memory_order_relaxed);
}

uint32_t record_session_refused(const record_session *self) {
  return atomic_load_explicit(&self->board->refused, memory_order_relaxed);
}

uint32_t record_session_beyond(const record_session *self) {
  return atomic_load_explicit(&self->board->taken, memory_order_relaxed) - record_session_count(self);
}
