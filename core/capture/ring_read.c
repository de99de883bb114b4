/* See ring_read.h. */
#include "ring_read.h"

#include "crc32c.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any writer makes. */
enum { RING_MOST_BLOCKS = 1 << 16 };

static pd_status check(ring_reader *self, uint64_t bytes) {
  const ring_head *head = self->head;
  const uint64_t mark = atomic_load_explicit(&self->head->mark, memory_order_acquire);
  if (mark != RING_MARK) return mark ? PD_INVALID : PD_STOP;
  self->blocks = head->blocks;
  if (head->version != RING_VERSION || head->byte_order != RING_BYTE_ORDER || !self->blocks ||
      self->blocks > RING_MOST_BLOCKS || ring_file_bytes(self->blocks) > bytes)
    return PD_INVALID;
  self->seen = calloc(self->blocks, sizeof *self->seen);
  self->copy = malloc(RING_BLOCK_BYTES);
  return self->seen && self->copy ? PD_OK : PD_NO_MEMORY;
}

pd_status ring_open(ring_reader *self, const char *path) {
  struct stat about;
  *self = (ring_reader){.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)};
  if (self->fd < 0 || fstat(self->fd, &about) != 0) return PD_IO;
  if (!S_ISREG(about.st_mode)) return PD_INVALID;
  const uint64_t bytes = (uint64_t)about.st_size;
  if (bytes < ring_file_bytes(1)) return PD_STOP;
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
  if (at == MAP_FAILED) return PD_IO;
  self->head = at;
  const pd_status status = check(self, bytes);
  if (status != PD_OK) {
    (void)munmap(at, bytes);
    self->head = NULL;
  }
  return status;
}

void ring_close(ring_reader *self) {
  if (self->head) (void)munmap(self->head, ring_file_bytes(self->blocks));
  if (self->fd >= 0) (void)close(self->fd);
  free(self->seen);
  free(self->copy);
  *self = (ring_reader){.fd = -1};
}

static void refuse(ring_reader *self, ring_seen *seen, uint64_t bytes) {
  self->torn++;
  self->torn_bytes += bytes;
  seen->bad = true;
}

/* What was published of an open or full block since the last time. */
static pd_status drain_block(ring_reader *self, ring_block *block, ring_seen *seen, ring_take *take, void *user) {
  const uint64_t published = atomic_load_explicit(&block->published, memory_order_acquire);
  const uint32_t used = (uint32_t)published, row_bytes = block->row_bytes;
  if (seen->bad || used == seen->bytes) return PD_OK;
  if (used > RING_ROOM || used < seen->bytes || !row_bytes || (used - seen->bytes) % row_bytes != 0) {
    refuse(self, seen, used > RING_ROOM ? RING_ROOM : used);
    return PD_OK;
  }
  const uint32_t bytes = used - seen->bytes;
  memcpy(self->copy, ring_rows(block) + seen->bytes, bytes); /* what is checked is what is taken */
  const uint32_t crc = crc32c(seen->crc, self->copy, bytes);
  if (crc != published >> 32) {
    refuse(self, seen, bytes);
    return PD_OK;
  }
  const uint64_t first = block->first + seen->bytes / row_bytes;
  seen->bytes = used;
  seen->crc = crc;
  return take(user, block->kind, block->thread, row_bytes, first, self->copy, bytes);
}

pd_status ring_drain(ring_reader *self, ring_take *take, void *user) {
  pd_status status = PD_OK;
  for (uint32_t i = 0; i < self->blocks && status == PD_OK; i++) {
    ring_block *block = ring_block_at(self->head, i);
    const uint32_t state = atomic_load_explicit(&block->state, memory_order_acquire);
    if (state != RING_OPEN && state != RING_FULL) continue;
    status = drain_block(self, block, &self->seen[i], take, user);
    if (state != RING_FULL || status != PD_OK) continue;
    self->seen[i] = (ring_seen){0};
    atomic_store_explicit(&block->state, RING_FREE, memory_order_release);
  }
  return status;
}

/* When process `pid` began, in the system's ticks: the 22nd word of its stat. 0: there is no such process, or only its
 * remains. */
static uint64_t begin_of(uint32_t pid) {
  char path[64], text[1024];
  (void)snprintf(path, sizeof path, "/proc/%u/stat", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
  if (fd >= 0) (void)close(fd);
  if (bytes <= 0) return 0;
  text[bytes] = '\0';
  const char *at = strrchr(text, ')'); /* the name before it may hold anything */
  if (!at || strlen(at) < 4 || at[2] == 'Z' || at[2] == 'X') return 0;
  for (int word = 2; at && word < 22; word++) at = strchr(at + 1, ' ');
  return at ? strtoull(at, NULL, 10) : 0;
}

/* The lock goes with the process, but also with a program that closes every file it did not open. */
bool ring_writer_lives(ring_reader *self) {
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  if (fcntl(self->fd, F_GETLK, &whole) == 0 && whole.l_type != F_UNLCK) {
    if (!self->pid && whole.l_pid > 0) {
      self->pid = (uint32_t)whole.l_pid;
      self->begun = begin_of(self->pid);
    }
    return true;
  }
  return self->pid && self->begun && begin_of(self->pid) == self->begun;
}

uint64_t ring_lost_count(const ring_reader *self, uint32_t loss) {
  return loss < RING_LOSSES ? atomic_load_explicit(&self->head->lost[loss], memory_order_relaxed) : 0;
}
