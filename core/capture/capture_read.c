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

enum { SCAN_BYTES = 1 << 20 };

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

static pd_status keep(capture_reader *self, const capture_head *head, uint64_t at) {
  if (!PD_ARRAY_FIT(self->records, self->capacity, self->count + 1)) return PD_NO_MEMORY;
  self->records[self->count++] = (capture_record){.kind = head->kind,
                                                  .window = head->window,
                                                  .thread = head->thread,
                                                  .count = head->count,
                                                  .row_bytes = head->row_bytes,
                                                  .bytes = head->bytes,
                                                  .first = head->first,
                                                  .at = at};
  return PD_OK;
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

static pd_status scan(capture_reader *self, unsigned char *room) {
  uint64_t at = sizeof self->head;
  self->whole_bytes = at;
  pd_status status = PD_OK;
  while (at < self->bytes && status == PD_OK) {
    capture_head head = {0};
    bool whole = false;
    const bool fits = self->bytes - at >= sizeof head;
    if (fits) status = read_at(self, at, &head, sizeof head);
    if (status != PD_OK) break;
    const bool known = fits && head_is_whole(&head);
    if (known) status = payload_is_whole(self, at + sizeof head, &head, room, &whole);
    if (status != PD_OK) break;
    if (whole) {
      status = keep(self, &head, at + sizeof head);
      at += sizeof head + padded(head.bytes);
      self->whole_bytes = at;
      continue;
    }
    uint64_t next = self->bytes;
    status = next_head(self, at + CAPTURE_ALIGN, room, &next);
    self->torn++;
    self->torn_bytes += next - at;
    at = next;
  }
  return status;
}

bool capture_probe(const void *first, uint64_t bytes) { return bytes >= 8 && !memcmp(first, CAPTURE_MAGIC, 8); }

static pd_status begin(capture_reader *self) {
  if (self->bytes < sizeof self->head) return PD_INVALID;
  pd_status status = read_at(self, 0, &self->head, sizeof self->head);
  if (status != PD_OK) return status;
  const capture_file_head *head = &self->head;
  const bool known = capture_probe(head->magic, sizeof head->magic) && head->version == CAPTURE_VERSION &&
                     head->byte_order == CAPTURE_BYTE_ORDER && head->head_bytes == sizeof *head &&
                     head->crc == crc32c(0, head, offsetof(capture_file_head, crc));
  if (!known) return PD_INVALID;
  unsigned char *room = malloc(SCAN_BYTES);
  if (!room) return PD_NO_MEMORY;
  status = scan(self, room);
  free(room);
  return status;
}

pd_status capture_open(capture_reader *self, const char *path) {
  struct stat about;
  *self = (capture_reader){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  if (self->fd < 0 || fstat(self->fd, &about) != 0) return PD_IO;
  if (!S_ISREG(about.st_mode)) return PD_INVALID;
  self->bytes = (uint64_t)about.st_size;
  return begin(self);
}

pd_status capture_open_memory(capture_reader *self, const void *data, uint64_t bytes) {
  *self = (capture_reader){.fd = -1, .memory = data, .bytes = bytes};
  return begin(self);
}

void capture_reader_close(capture_reader *self) {
  if (self->fd >= 0) close(self->fd);
  free(self->records);
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
