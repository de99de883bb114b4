/* Writing a capture file; see capture_write.h. */
#include "capture_write.h"

#include "capture_read.h"
#include "crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/uio.h>
#include <unistd.h>

static const unsigned char zeros[CAPTURE_ALIGN];

/* All of it, however often the system takes only a part. */
static pd_status write_all(capture_writer *self, struct iovec *parts, int count) {
  while (count) {
    const ssize_t done = writev(self->fd, parts, count);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) {
      self->fault = done < 0 ? errno : EIO;
      return PD_IO;
    }
    size_t left = (size_t)done;
    self->bytes += left;
    while (count && left >= parts->iov_len) {
      left -= parts->iov_len;
      parts++;
      count--;
    }
    if (count) {
      parts->iov_base = (unsigned char *)parts->iov_base + left;
      parts->iov_len -= left;
    }
  }
  return PD_OK;
}

static pd_status put_file_head(capture_writer *self, uint32_t origin, uint32_t pid, int64_t realtime_ns) {
  capture_file_head head = {.version = CAPTURE_VERSION,
                            .byte_order = CAPTURE_BYTE_ORDER,
                            .head_bytes = sizeof head,
                            .origin = origin,
                            .pid = pid,
                            .realtime_ns = realtime_ns};
  memcpy(head.magic, CAPTURE_MAGIC, sizeof head.magic);
  head.crc = crc32c(0, &head, offsetof(capture_file_head, crc));
  struct iovec part = {&head, sizeof head};
  return write_all(self, &part, 1);
}

pd_status capture_create(capture_writer *self, const char *path, uint32_t origin, uint32_t pid, int64_t realtime_ns) {
  *self = (capture_writer){.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0644)};
  if (self->fd < 0) return PD_IO;
  (void)flock(self->fd, LOCK_EX | LOCK_NB);
  return put_file_head(self, origin, pid, realtime_ns);
}

pd_status capture_begin_in(capture_writer *self, int fd, uint32_t origin, uint32_t pid, int64_t realtime_ns) {
  *self = (capture_writer){.fd = fd};
  if (ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0) return put_file_head(self, origin, pid, realtime_ns);
  self->fault = errno;
  return PD_IO;
}

int capture_lock(const char *path) {
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  (void)close(fd);
  return -1;
}

pd_status capture_finish(char *path) {
  const size_t bytes = strlen(path), ending = sizeof CAPTURE_UNFINISHED - 1;
  char *before = bytes > ending ? strdup(path) : NULL;
  pd_status status = PD_OK;
  if (before && strcmp(path + bytes - ending, CAPTURE_UNFINISHED) == 0) {
    memcpy(path + bytes - ending, ".pdcap", sizeof ".pdcap");
    if (rename(before, path) != 0) {
      memcpy(path, before, bytes + 1);
      status = PD_IO;
    }
  }
  free(before);
  return status;
}

pd_status capture_extend(capture_writer *self, const char *path) {
  capture_reader reader;
  *self = (capture_writer){.fd = -1};
  pd_status status = capture_open(&reader, path);
  const uint64_t whole = reader.whole_bytes;
  const uint32_t strings = capture_strings_end(&reader);
  capture_reader_close(&reader);
  if (status != PD_OK) return status;
  self->fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (self->fd < 0) return PD_IO;
  self->bytes = whole;
  self->strings_written = strings;
  if (ftruncate(self->fd, (off_t)whole) == 0) return PD_OK;
  self->fault = errno;
  return PD_IO;
}

pd_status capture_close(capture_writer *self, bool sync) {
  if (self->fd < 0) return PD_OK;
  if (sync && !self->fault && fdatasync(self->fd) != 0) self->fault = errno;
  if (close(self->fd) != 0 && !self->fault) self->fault = errno;
  self->fd = -1;
  return self->fault ? PD_IO : PD_OK;
}

pd_status capture_put(capture_writer *self, capture_head head, const void *payload, uint64_t bytes) {
  if (self->fd < 0 || self->fault) return PD_IO;
  if (bytes > CAPTURE_RECORD_BYTES) return PD_INVALID;
  const size_t rest = (size_t)(bytes % CAPTURE_ALIGN);
  head.mark = CAPTURE_MARK;
  head.bytes = (uint32_t)bytes;
  head.payload_crc = crc32c(0, payload, (size_t)bytes);
  head.reserved = 0;
  head.crc = crc32c(0, &head, offsetof(capture_head, crc));
  struct iovec parts[3] = {
      {&head, sizeof head}, {(void *)payload, (size_t)bytes}, {(void *)zeros, rest ? CAPTURE_ALIGN - rest : 0}};
  const uint64_t before = self->bytes;
  const pd_status status = write_all(self, parts, 3);
  if (status != PD_OK && ftruncate(self->fd, (off_t)before) == 0) self->bytes = before;
  return status;
}

pd_status capture_put_rows(capture_writer *self, capture_kind kind, uint32_t window, uint32_t thread, const void *rows,
                           uint64_t count, size_t row_bytes) {
  const uint64_t most = CAPTURE_PART_BYTES / row_bytes;
  pd_status status = PD_OK;
  for (uint64_t first = 0; first < count && status == PD_OK; first += most) {
    const uint64_t part = count - first < most ? count - first : most;
    const capture_head head = {.kind = kind,
                               .window = window,
                               .thread = thread,
                               .first = first,
                               .count = (uint32_t)part,
                               .row_bytes = (uint32_t)row_bytes};
    status = capture_put(self, head, (const unsigned char *)rows + first * row_bytes, part * row_bytes);
  }
  return status;
}

pd_status capture_put_text(capture_writer *self, capture_kind kind, uint32_t window, const char *text) {
  const size_t bytes = strlen(text);
  return capture_put(self, (capture_head){.kind = kind, .window = window, .count = 1, .row_bytes = 1}, text, bytes);
}
