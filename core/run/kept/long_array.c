/* See long_array.h. The disk space is taken before the memory is touched, so that a full disk is no SIGBUS. */
#include "long_array.h"

#include <pdhost/array.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool grow_memory(long_array *self, uint64_t count) {
  unsigned char *rows = self->rows;
  uint64_t bytes = self->room * self->row_bytes;
  if (!PD_ARRAY_FIT(rows, bytes, count * self->row_bytes)) return false;
  self->rows = rows;
  self->room = bytes / self->row_bytes;
  return true;
}

/* What was filled goes out of this process's memory: the file has it. */
static bool grow_file(long_array *self, uint64_t bytes) {
  if (posix_fallocate(self->file, (off_t)self->bytes, (off_t)(bytes - self->bytes)) != 0) return false;
  void *rows = self->bytes ? mremap(self->rows, self->bytes, bytes, MREMAP_MAYMOVE)
                           : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, self->file, 0);
  if (rows == MAP_FAILED) return false;
  if (self->bytes) (void)madvise(rows, self->bytes, MADV_DONTNEED);
  self->rows = rows;
  self->bytes = bytes;
  self->room = bytes / self->row_bytes;
  return true;
}

static uint64_t whole_parts(uint64_t bytes) { return (bytes / LONG_ARRAY_PART + 1) * LONG_ARRAY_PART; }

static bool move_to_file(long_array *self, uint64_t count) {
  void *before = self->rows;
  const size_t filled = (size_t)(self->room * self->row_bytes);
  self->file = open(self->folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (self->file < 0) return false;
  if (!grow_file(self, whole_parts(count * self->row_bytes))) {
    close(self->file);
    return false;
  }
  if (filled) memcpy(self->rows, before, filled);
  free(before);
  return true;
}

/* The disk is full: back to memory. */
static bool move_to_memory(long_array *self, uint64_t count) {
  long_array moved = {.row_bytes = self->row_bytes};
  if (!grow_memory(&moved, 2 * count)) return false;
  memcpy(moved.rows, self->rows, (size_t)(self->room * self->row_bytes));
  long_array_free(self);
  *self = moved;
  return true;
}

bool long_array_fit(long_array *self, uint64_t count) {
  if (count <= self->room) return true;
  if (count > (UINT64_MAX / 4) / self->row_bytes) return false;
  if (self->bytes) return grow_file(self, whole_parts(count * self->row_bytes)) || move_to_memory(self, count);
  if (self->folder && count * self->row_bytes > LONG_ARRAY_MEMORY) {
    if (move_to_file(self, count)) return true;
    self->folder = NULL; /* it is not tried again */
  }
  return grow_memory(self, count);
}

void long_array_free(long_array *self) {
  if (self->bytes) {
    (void)munmap(self->rows, self->bytes);
    (void)close(self->file);
  } else {
    free(self->rows);
  }
  self->rows = NULL;
  self->room = self->bytes = 0;
}
