/* See kineto_input.h. */
#include "kineto_input.h"

#include "kineto_zip.h"

#include <pdhost/array.h>

#include <errno.h>
#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { RAW_BYTES = 128 << 10, FIRST_ROOM = 64 << 10 }; /* raw: the longest head of a file in a .zip, too */
#define ROOM_LIMIT ((size_t)1 << 30)

typedef struct input_source {
  int fd;
  bool owns_fd, known, is_gzip, is_zip, raw_end;
  bool is_stored;       /* in a .zip, and not compressed */
  uint64_t stored_left; /* of it */
  uint8_t *raw;
  size_t raw_begin, raw_end_at;
  struct inflate_state inflate;
} input_source;

pd_status input_open(input *self, const char *path) {
  *self = (input){.room = FIRST_ROOM};
  input_source *source = calloc(1, sizeof *source);
  self->data = malloc(FIRST_ROOM + INPUT_PADDING);
  self->source = source;
  if (source) {
    source->fd = -1;
    source->raw = malloc(RAW_BYTES);
  }
  if (!source || !self->data || !source->raw) {
    input_close(self);
    return PD_NO_MEMORY;
  }
  source->owns_fd = strcmp(path, "-") != 0;
  source->fd = source->owns_fd ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO;
  struct stat about;
  const bool good = source->fd >= 0 && fstat(source->fd, &about) == 0;
  if (!good || S_ISDIR(about.st_mode)) {
    const int why = good ? EISDIR : errno;
    input_close(self);
    errno = why;
    return PD_IO;
  }
  self->bytes = S_ISREG(about.st_mode) ? (uint64_t)about.st_size : 0;
  memset(self->data, 0, INPUT_PADDING);
  return PD_OK;
}

void input_close(input *self) {
  if (self->source) {
    if (self->source->owns_fd && self->source->fd >= 0) close(self->source->fd);
    free(self->source->raw);
  }
  free(self->source);
  free(self->data);
  self->source = NULL;
  self->data = NULL;
}

/* 0 at the end of the file and on a failure, which ends it too. */
static size_t read_some(input *self, void *to, size_t room) {
  for (;;) {
    const ssize_t got = read(self->source->fd, to, room);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) self->broken = strerror(errno);
    if (got > 0) self->taken += (uint64_t)got;
    return got > 0 ? (size_t)got : 0;
  }
}

static void fill_raw(input *self) {
  input_source *source = self->source;
  if (source->raw_begin < source->raw_end_at || source->raw_end) return;
  source->raw_begin = 0;
  source->raw_end_at = read_some(self, source->raw, RAW_BYTES);
  source->raw_end = source->raw_end_at == 0;
}

static void begin_member(input_source *source) {
  isal_inflate_init(&source->inflate);
  source->inflate.crc_flag = ISAL_GZIP;
}

/* Whether another member follows; what else follows is surplus. */
static bool next_member(input *self) {
  input_source *source = self->source;
  fill_raw(self);
  if (source->raw_begin == source->raw_end_at) return false;
  if (source->raw_end_at - source->raw_begin == 1) { /* the magic may be cut by the buffer */
    source->raw[0] = source->raw[source->raw_begin];
    source->raw_begin = 0;
    source->raw_end_at = 1 + read_some(self, source->raw + 1, RAW_BYTES - 1);
  }
  const uint8_t *at = source->raw + source->raw_begin;
  if (source->raw_end_at - source->raw_begin > 1 && at[0] == 0x1f && at[1] == 0x8b) {
    begin_member(source);
    return true;
  }
  self->surplus = source->raw_end_at - source->raw_begin;
  if (self->bytes) self->surplus += self->bytes - self->taken;
  return false;
}

/* At least `bytes` bytes of the file in `raw`; false: it ends before. */
static bool want_raw(input *self, size_t bytes) {
  input_source *source = self->source;
  while (source->raw_end_at - source->raw_begin < bytes) {
    if (bytes > RAW_BYTES) return false;
    memmove(source->raw, source->raw + source->raw_begin, source->raw_end_at - source->raw_begin);
    source->raw_end_at -= source->raw_begin;
    source->raw_begin = 0;
    const size_t got = read_some(self, source->raw + source->raw_end_at, RAW_BYTES - source->raw_end_at);
    if (!got) return false;
    source->raw_end_at += got;
  }
  return true;
}

static bool skip_raw(input *self, uint64_t bytes) {
  input_source *source = self->source;
  while (bytes) {
    if (!want_raw(self, 1)) return false;
    const size_t here = source->raw_end_at - source->raw_begin, step = bytes < here ? (size_t)bytes : here;
    source->raw_begin += step;
    bytes -= step;
  }
  return true;
}

/* To the data of the archive's next file. False: there is none. */
static bool enter_zipped(input *self, zip_head *head, zip_kind *kind, char *name, size_t room) {
  input_source *source = self->source;
  if (!want_raw(self, ZIP_HEAD_BYTES) || !zip_is_head(source->raw + source->raw_begin)) return false;
  *head = zip_read_head(source->raw + source->raw_begin);
  if (!want_raw(self, ZIP_HEAD_BYTES + head->name_bytes)) return false;
  const char *given = (const char *)source->raw + source->raw_begin + ZIP_HEAD_BYTES;
  *kind = zip_kind_of(given, head->name_bytes);
  (void)snprintf(name, room, "%.*s", (int)head->name_bytes, given);
  source->is_stored = head->is_stored && head->is_sized;
  source->stored_left = head->data_bytes;
  if (head->is_deflated) {
    isal_inflate_init(&source->inflate);
    source->inflate.crc_flag = ISAL_DEFLATE;
  }
  return skip_raw(self, ZIP_HEAD_BYTES + head->name_bytes + head->extra_bytes);
}

/* Behind the data there may be its size, and then the next file. */
static void end_zipped(input *self) {
  enum { MOST_SIZE = 24, MARK = 4 };
  input_source *source = self->source;
  size_t ahead = source->is_stored ? 0 : (size_t)source->inflate.read_in_length / 8; /* taken, and not used */
  if (ahead > source->raw_begin) ahead = source->raw_begin;
  source->inflate.read_in_length = 0;
  source->raw_begin -= ahead;
  (void)want_raw(self, MOST_SIZE + MARK);
  const size_t here = source->raw_end_at - source->raw_begin;
  for (size_t i = 0; i <= MOST_SIZE && i + MARK <= here; i++) {
    if (!zip_is_head(source->raw + source->raw_begin + i)) continue;
    source->raw_begin += i;
    return;
  }
}

/* Inflates into [to, to + room); 0 at the end. */
static size_t inflate_some(input *self, char *to, size_t room) {
  input_source *source = self->source;
  struct inflate_state *state = &source->inflate;
  size_t made = 0;
  while (!made) {
    if (source->is_zip && state->block_state == ISAL_BLOCK_FINISH) end_zipped(self);
    if (state->block_state == ISAL_BLOCK_FINISH && (source->is_zip || !next_member(self))) return 0;
    fill_raw(self);
    state->next_in = source->raw + source->raw_begin;
    state->avail_in = (uint32_t)(source->raw_end_at - source->raw_begin);
    state->next_out = (uint8_t *)to;
    state->avail_out = room > UINT32_MAX ? UINT32_MAX : (uint32_t)room;
    const uint32_t before = state->avail_out, in_before = state->avail_in;
    const int result = isal_inflate(state);
    source->raw_begin = source->raw_end_at - state->avail_in;
    made = before - state->avail_out;
    if (result < 0) {
      self->broken = "the compressed data is damaged";
      state->block_state = ISAL_BLOCK_FINISH;
      source->raw_begin = source->raw_end_at;
      source->raw_end = true;
      return made;
    }
    if (!made && state->block_state != ISAL_BLOCK_FINISH && source->raw_end && in_before == state->avail_in) {
      self->broken = "the compressed data is cut short";
      return 0;
    }
  }
  return made;
}

/* Over the data of a file whose head was read: its size may be known only behind it. */
static bool skip_zipped(input *self, const zip_head *head) {
  enum { PIECE = 16 << 10 };
  char piece[PIECE];
  if (head->is_sized) return skip_raw(self, head->data_bytes);
  while (head->is_deflated && inflate_some(self, piece, sizeof piece)) continue;
  return head->is_deflated && !self->broken;
}

/* To the data of the first trace, or of the first file of any name. */
static bool find_zipped(input *self, zip_kind least) {
  zip_head head;
  zip_kind kind;
  while (enter_zipped(self, &head, &kind, self->member, sizeof self->member)) {
    if (kind >= least) {
      if (head.is_encrypted)
        self->broken = "the archive is encrypted";
      else if (!head.is_deflated && !self->source->is_stored)
        self->broken = "the archive is of a kind that cannot be read";
      return !self->broken;
    }
    if (!skip_zipped(self, &head)) break;
  }
  self->member[0] = '\0';
  return false;
}

static void open_zipped(input *self) {
  input_source *source = self->source;
  if (find_zipped(self, ZIP_TRACE) || self->broken) return;
  if (lseek(source->fd, 0, SEEK_SET) != 0) {
    self->broken = "the archive that comes in holds no file whose name ends in .json; unpack it first";
    return;
  }
  source->raw_begin = source->raw_end_at = 0;
  source->raw_end = false;
  self->taken = 0;
  if (!find_zipped(self, ZIP_OTHER) && !self->broken) self->broken = "the archive holds no file, or is cut short";
}

/* What follows the file that was read, up to the next trace. Damage in it is none of that file's. */
static void look_behind_zipped(input *self) {
  const char *const broken = self->broken;
  zip_head head;
  zip_kind kind;
  char name[sizeof self->next_member];
  while (!self->next_member[0] && enter_zipped(self, &head, &kind, name, sizeof name)) {
    self->more_files |= kind != ZIP_NOTHING;
    if (kind == ZIP_TRACE) (void)snprintf(self->next_member, sizeof self->next_member, "%s", name);
    if (kind != ZIP_TRACE && !skip_zipped(self, &head)) break;
  }
  self->broken = broken;
}

static void look_at_magic(input *self) {
  input_source *source = self->source;
  source->known = true;
  fill_raw(self);
  while (source->raw_end_at == 1) { /* a pipe may give one byte */
    const size_t got = read_some(self, source->raw + 1, RAW_BYTES - 1);
    if (!got) break;
    source->raw_end_at += got;
  }
  source->is_gzip = source->raw_end_at > 1 && source->raw[0] == 0x1f && source->raw[1] == 0x8b;
  if (source->is_gzip) begin_member(source);
  source->is_zip = !source->is_gzip && want_raw(self, ZIP_HEAD_BYTES) && zip_is_head(source->raw);
  if (source->is_zip) open_zipped(self);
  if (source->is_zip && self->broken) {
    source->is_stored = true; /* of nothing */
    source->stored_left = 0;
  }
}

static size_t take_stored(input *self, char *to, size_t room) {
  input_source *source = self->source;
  if (!source->stored_left) end_zipped(self);
  if (!source->stored_left) return 0;
  if (!want_raw(self, 1)) {
    self->broken = "the archive is cut short";
    return 0;
  }
  size_t bytes = source->raw_end_at - source->raw_begin;
  if (bytes > room) bytes = room;
  if (bytes > source->stored_left) bytes = (size_t)source->stored_left;
  memcpy(to, source->raw + source->raw_begin, bytes);
  source->raw_begin += bytes;
  source->stored_left -= bytes;
  return bytes;
}

static size_t take_plain(input *self, char *to, size_t room) {
  input_source *source = self->source;
  const size_t left = source->raw_end_at - source->raw_begin;
  if (!left) return read_some(self, to, room);
  const size_t bytes = left < room ? left : room;
  memcpy(to, source->raw + source->raw_begin, bytes);
  source->raw_begin += bytes;
  return bytes;
}

bool input_more(input *self) {
  if (self->at_end) return false;
  if (!self->source->known) look_at_magic(self);
  if (self->begin) {
    memmove(self->data, self->data + self->begin, self->end - self->begin);
    self->offset += self->begin;
    self->end -= self->begin;
    self->begin = 0;
  }
  if (self->end > self->room / 2) {
    size_t room = self->room + INPUT_PADDING;
    if (self->room >= ROOM_LIMIT || !PD_ARRAY_FIT(self->data, room, 2 * self->room + INPUT_PADDING)) {
      self->broken = "one value of it is larger than 1 GiB, or memory";
      self->at_end = true;
      return false;
    }
    self->room = room - INPUT_PADDING;
  }
  const size_t room = self->room - self->end;
  char *to = self->data + self->end;
  const input_source *source = self->source;
  const size_t got = source->is_zip && source->is_stored ? take_stored(self, to, room)
                     : source->is_gzip || source->is_zip ? inflate_some(self, to, room)
                                                         : take_plain(self, to, room);
  self->end += got;
  memset(self->data + self->end, 0, INPUT_PADDING);
  if (!got) self->at_end = true;
  if (!got && source->is_zip && !self->broken) look_behind_zipped(self);
  return got > 0;
}
