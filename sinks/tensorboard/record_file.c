/* See record_file.h. Checksums by ISA-L. */
#include "record_file.h"

#include <pdhost/array.h>

#include <errno.h>
#include <fcntl.h>
#include <isa-l.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FLUSH_BYTES = 64 << 10, MOST_FILES = 1000 };

struct record_file {
  const pd_host *host;
  char *path;
  int descriptor;
  pd_status status;
  off_t good_bytes; /* whole records in the file */
  uint8_t *buffer;
  size_t bytes, room;
};

/* CRC-32C as TFRecord masks it. */
static uint32_t record_file_masked_crc(const void *data, size_t bytes) {
  const unsigned char *at = data;
  uint32_t crc = 0xffffffffu;
  while (bytes) { /* the library counts in int */
    const size_t piece = bytes < (1u << 30) ? bytes : 1u << 30;
    unsigned char *unchanged; /* by the library, though it does not say so */
    memcpy(&unchanged, &at, sizeof unchanged);
    crc = crc32_iscsi(unchanged, (int)piece, crc);
    at += piece;
    bytes -= piece;
  }
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static pd_status make_folder(const pd_host *host, char *path) {
  for (char *at = path + 1;; at++) {
    if (*at != '/' && *at != '\0') continue;
    const char kept = *at;
    *at = '\0';
    const bool there = mkdir(path, 0777) == 0 || errno == EEXIST;
    const int cause = errno;
    if (!there) host->fail(host, PD_IO, "%s: folder cannot be made: %s", path, strerror(cause));
    *at = kept;
    if (!there) return PD_IO;
    if (!kept) return PD_OK;
  }
}

static pd_status open_free_name(record_file *self, const char *folder, int64_t seconds, const char *host_name,
                                uint32_t pid) {
  for (uint32_t n = 0; n < MOST_FILES; n++) {
    if (asprintf(&self->path, "%s/events.out.tfevents.%010lld.%s.%u.%u", folder, (long long)seconds, host_name, pid,
                 n) < 0) {
      self->path = NULL;
      return self->host->fail(self->host, PD_NO_MEMORY, "%s: out of memory", folder);
    }
    self->descriptor = open(self->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (self->descriptor >= 0) return PD_OK;
    if (errno != EEXIST || n + 1 == MOST_FILES)
      return self->host->fail(self->host, PD_IO, "%s: cannot be opened for writing: %s", self->path, strerror(errno));
    free(self->path);
    self->path = NULL;
  }
  return PD_IO;
}

pd_status record_file_open(const pd_host *host, const char *folder, int64_t seconds, const char *host_name,
                           uint32_t pid, record_file **out) {
  pd_status status;
  char *copy = strdup(folder);
  record_file *self = calloc(1, sizeof *self);
  if (self) {
    self->host = host;
    self->descriptor = -1;
    self->room = FLUSH_BYTES;
    self->buffer = malloc(self->room);
  }
  if (!copy || !self || !self->buffer) {
    status = host->fail(host, PD_NO_MEMORY, "%s: out of memory", folder);
    goto out;
  }
  status = make_folder(host, copy);
  if (status == PD_OK) status = open_free_name(self, folder, seconds, host_name, pid);
  if (status != PD_OK) goto out;
  *out = self;
  self = NULL;
out:
  record_file_close(self);
  free(copy);
  return status;
}

static uint8_t *put_u32(uint8_t *at, uint32_t value) {
  for (int i = 0; i < 4; i++) *at++ = (uint8_t)(value >> (8 * i));
  return at;
}

pd_status record_file_add(record_file *self, const void *data, size_t bytes) {
  enum { FRAME = 8 + 4 + 4 };
  if (self->status != PD_OK) return self->status;
  if (!PD_ARRAY_FIT(self->buffer, self->room, self->bytes + bytes + FRAME))
    return self->status = self->host->fail(self->host, PD_NO_MEMORY, "%s: out of memory", self->path);
  uint8_t *start = self->buffer + self->bytes;
  uint8_t *at = put_u32(start, (uint32_t)bytes);
  at = put_u32(at, (uint32_t)((uint64_t)bytes >> 32));
  at = put_u32(at, record_file_masked_crc(start, 8));
  memcpy(at, data, bytes);
  at = put_u32(at + bytes, record_file_masked_crc(data, bytes));
  self->bytes = (size_t)(at - self->buffer);
  return self->bytes >= FLUSH_BYTES ? record_file_flush(self) : PD_OK;
}

pd_status record_file_flush(record_file *self) {
  const uint8_t *at = self->buffer;
  size_t left = self->bytes;
  while (left && self->status == PD_OK) {
    const ssize_t done = write(self->descriptor, at, left);
    if (done < 0) {
      if (errno == EINTR) continue;
      self->status = self->host->fail(self->host, PD_IO, "%s: cannot be written: %s%s", self->path, strerror(errno),
                                      self->good_bytes ? "; it keeps the records before" : "");
      if (ftruncate(self->descriptor, self->good_bytes) != 0) break; /* readers skip a cut-off record all the same */
    } else {
      at += done;
      left -= (size_t)done;
    }
  }
  if (self->status == PD_OK) self->good_bytes += (off_t)self->bytes;
  self->bytes = 0;
  return self->status;
}

void record_file_close(record_file *self) {
  if (!self) return;
  if (self->descriptor >= 0) {
    close(self->descriptor);
    if (self->good_bytes == 0 && self->path) unlink(self->path);
  }
  free(self->path);
  free(self->buffer);
  free(self);
}

const char *record_file_path(const record_file *self) { return self->path; }
