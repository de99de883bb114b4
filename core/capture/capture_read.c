/* Reading a capture file; see capture_read.h. */
#include "capture_read.h"

#include "crc32c.h"

#include <pdhost/array.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCAN_BYTES = 64 << 10 };

/* Bytes of the file from `at` on, all or nothing. */
static pd_status read_at(const capture_reader *self, uint64_t at, void *out, uint64_t bytes) {
  unsigned char *to = out;
  if (at > self->bytes || bytes > self->bytes - at) return PD_INVALID;
  if (self->fd < 0) {
    if (bytes) memcpy(to, self->memory + at, (size_t)bytes);
    return PD_OK;
  }
  while (bytes) {
    const ssize_t got = pread(self->fd, to, (size_t)bytes, (off_t)at);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return PD_IO;
    to += got;
    at += (uint64_t)got;
    bytes -= (uint64_t)got;
  }
  return PD_OK;
}

static bool head_is_whole(const capture_head *head) {
  return head->mark == CAPTURE_MARK && head->crc == crc32c(0, head, offsetof(capture_head, crc)) &&
         head->bytes <= CAPTURE_RECORD_BYTES;
}

static uint64_t padded(uint64_t bytes) { return (bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN; }

static pd_status payload_is_whole(const capture_reader *self, uint64_t at, const capture_head *head, void *room,
                                  bool *whole) {
  uint32_t crc = 0;
  *whole = false;
  if (padded(head->bytes) > self->bytes - at) return PD_OK;
  for (uint64_t done = 0; done < head->bytes;) {
    const uint64_t left = head->bytes - done, part = left < SCAN_BYTES ? left : SCAN_BYTES;
    const pd_status status = read_at(self, at + done, room, part);
    if (status != PD_OK) return status;
    crc = crc32c(crc, room, (size_t)part);
    done += part;
  }
  *whole = crc == head->payload_crc;
  return PD_OK;
}

static capture_record record_of(const capture_head *head, uint64_t at) {
  return (capture_record){.kind = head->kind,
                          .window = head->window,
                          .thread = head->thread,
                          .count = head->count,
                          .row_bytes = head->row_bytes,
                          .bytes = head->bytes,
                          .first = head->first,
                          .at = at};
}

/* From `at` on, the place of the next head that is whole; the end of the file where there is none. */
static pd_status next_head(const capture_reader *self, uint64_t at, unsigned char *room, uint64_t *found) {
  const uint64_t head_bytes = sizeof(capture_head);
  while (self->bytes >= head_bytes && at <= self->bytes - head_bytes) {
    const uint64_t left = self->bytes - at, part = left < SCAN_BYTES ? left : SCAN_BYTES;
    const pd_status status = read_at(self, at, room, part);
    if (status != PD_OK) return status;
    uint64_t i = 0;
    for (; i + head_bytes <= part; i += CAPTURE_ALIGN) {
      capture_head head;
      memcpy(&head, room + i, sizeof head);
      if (head.mark != CAPTURE_MARK || !head_is_whole(&head)) continue;
      *found = at + i;
      return PD_OK;
    }
    at += i;
  }
  *found = self->bytes;
  return PD_OK;
}

/* Whether a whole record begins at `at`, and its head. */
static pd_status look(const capture_reader *self, uint64_t at, capture_head *head, bool *whole) {
  *whole = false;
  if (self->bytes - at < sizeof *head) return PD_OK;
  const pd_status status = read_at(self, at, head, sizeof *head);
  if (status != PD_OK || !head_is_whole(head)) return status;
  return payload_is_whole(self, at + sizeof *head, head, self->room, whole);
}

pd_status capture_next(capture_reader *self, capture_record *out) {
  if (!self->room) self->room = malloc(SCAN_BYTES);
  if (!self->room) return PD_NO_MEMORY;
  while (self->next < self->bytes) {
    capture_head head = {0};
    bool whole;
    const uint64_t at = self->next;
    pd_status status = look(self, at, &head, &whole);
    if (status != PD_OK) return status;
    if (whole) {
      *out = record_of(&head, at + sizeof head);
      self->next = self->whole_bytes = at + sizeof head + padded(head.bytes);
      return PD_OK;
    }
    status = next_head(self, at + CAPTURE_ALIGN, self->room, &self->next);
    if (status != PD_OK) return status;
    if (!self->torn++) self->torn_at = at;
    self->torn_bytes += self->next - at;
  }
  return PD_STOP;
}

bool capture_grew(capture_reader *self) {
  struct stat about;
  if (self->fd < 0 || fstat(self->fd, &about) != 0 || (uint64_t)about.st_size <= self->bytes) return false;
  self->bytes = (uint64_t)about.st_size;
  return true;
}

void capture_rewind(capture_reader *self) {
  self->next = self->whole_bytes = sizeof self->head;
  self->torn = self->torn_bytes = 0;
}

pd_status capture_index(capture_reader *self) {
  capture_record record;
  pd_status status;
  while ((status = capture_next(self, &record)) == PD_OK) {
    if (!PD_ARRAY_FIT(self->records, self->capacity, self->count + 1)) return PD_NO_MEMORY;
    self->records[self->count++] = record;
  }
  return status == PD_STOP ? PD_OK : status;
}

bool capture_probe(const void *first, uint64_t bytes) { return bytes >= 8 && !memcmp(first, CAPTURE_MAGIC, 8); }

static pd_status read_head(capture_reader *self) {
  if (self->bytes < sizeof self->head) return PD_INVALID;
  const pd_status status = read_at(self, 0, &self->head, sizeof self->head);
  if (status != PD_OK) return status;
  const capture_file_head *head = &self->head;
  const bool known = capture_probe(head->magic, sizeof head->magic) && head->version == CAPTURE_VERSION &&
                     head->byte_order == CAPTURE_BYTE_ORDER && head->head_bytes == sizeof *head &&
                     head->crc == crc32c(0, head, offsetof(capture_file_head, crc));
  capture_rewind(self);
  return known ? PD_OK : PD_INVALID;
}

pd_status capture_begin(capture_reader *self, const char *path) {
  struct stat about;
  *self = (capture_reader){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (self->fd < 0 || fstat(self->fd, &about) != 0) return PD_IO;
  if (!S_ISREG(about.st_mode)) return PD_INVALID;
  self->bytes = (uint64_t)about.st_size;
  return read_head(self);
}

pd_status capture_open(capture_reader *self, const char *path) {
  const pd_status status = capture_begin(self, path);
  return status == PD_OK ? capture_index(self) : status;
}

pd_status capture_open_memory(capture_reader *self, const void *data, uint64_t bytes) {
  *self = (capture_reader){.fd = -1, .memory = data, .bytes = bytes};
  const pd_status status = read_head(self);
  return status == PD_OK ? capture_index(self) : status;
}

void capture_reader_close(capture_reader *self) {
  if (self->fd >= 0) close(self->fd);
  free(self->records);
  free(self->room);
  *self = (capture_reader){.fd = -1};
}

pd_status capture_payload(const capture_reader *self, const capture_record *record, void *out) {
  return read_at(self, record->at, out, record->bytes);
}

uint32_t capture_strings_end(const capture_reader *self) {
  uint64_t end = 0;
  for (uint64_t i = 0; i < self->count; i++) {
    const capture_record *at = &self->records[i];
    if (at->kind == CAPTURE_STRINGS && at->first + at->count > end) end = at->first + at->count;
  }
  return end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
}

const char *capture_kind_text(uint32_t kind) {
  switch (kind) {
#define CAPTURE_X(name, value, text)                                                                                   \
  case CAPTURE_##name: return text;
    CAPTURE_KIND_MAP(CAPTURE_X)
#undef CAPTURE_X
  default: return "unknown";
  }
}
