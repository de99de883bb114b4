/* See record_session.h. */
#include "record_session.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* A ring holds what a process records while the supervisor is kept from reading: some seconds of a busy one. */
enum { RING_BLOCKS = 256 };
/* A file system with less would be full soon; a container's /dev/shm often is. */
#define ROOM_WANTED (UINT64_C(256) << 20)

static bool has_room(const char *folder) {
  struct statvfs about;
  return statvfs(folder, &about) == 0 && (uint64_t)about.f_bavail * about.f_frsize >= ROOM_WANTED &&
         access(folder, W_OK | X_OK) == 0;
}

static const char *place(void) {
  const char *temporary = getenv("TMPDIR");
  if (has_room("/dev/shm")) return "/dev/shm";
  return temporary && *temporary && strlen(temporary) < 128 ? temporary : "/tmp";
}

static record_board *make_board(const char *folder) {
  char path[320];
  (void)snprintf(path, sizeof path, "%s/" RECORD_BOARD_FILE, folder);
  const int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return NULL;
  void *at = MAP_FAILED;
  if ((errno = posix_fallocate(fd, 0, (off_t)sizeof(record_board))) == 0)
    at = mmap(NULL, sizeof(record_board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int why = errno;
  (void)close(fd);
  errno = why;
  return at == MAP_FAILED ? NULL : at;
}

pd_status record_session_open(record_session *self, const char *cupti, error *err) {
  *self = (record_session){.board = NULL};
  (void)snprintf(self->folder, sizeof self->folder, "%s/pdhost-record-XXXXXX", place());
  if (!mkdtemp(self->folder)) {
    const int why = errno;
    self->folder[0] = '\0';
    return error_set(err, PD_IO, CODE_OUTPUT, "%s: no folder can be made there: %s; set TMPDIR to another place",
                     place(), strerror(why));
  }
  self->board = make_board(self->folder);
  if (!self->board) {
    error_set(err, PD_IO, CODE_OUTPUT, "%s: %s; set TMPDIR to another place", self->folder, strerror(errno));
    record_session_close(self);
    return PD_IO;
  }
  self->board->ring_blocks = RING_BLOCKS;
  if (cupti) (void)snprintf(self->board->cupti, sizeof self->board->cupti, "%s", cupti);
  self->board->version = RECORD_VERSION;
  self->board->mark = RECORD_MARK;
  return PD_OK;
}

void record_session_close(record_session *self) {
  char path[512];
  if (self->board) (void)munmap(self->board, sizeof *self->board);
  DIR *folder = self->folder[0] ? opendir(self->folder) : NULL;
  for (const struct dirent *entry; folder && (entry = readdir(folder));) {
    (void)snprintf(path, sizeof path, "%s/%.200s", self->folder, entry->d_name);
    if (entry->d_name[0] != '.') (void)unlink(path);
  }
  if (folder) (void)closedir(folder);
  if (self->folder[0]) (void)rmdir(self->folder);
  *self = (record_session){.board = NULL};
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
