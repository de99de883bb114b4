/* See ring_write.h. */
#include "ring_write.h"

#include "crc32c.h"

#include <pdhost/clocks.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static bool give_up(ring_writer *self, const char *path) {
  const int why = errno;
  if (self->fd >= 0) {
    (void)close(self->fd);
    (void)unlink(path);
  }
  self->fd = -1;
  errno = why;
  return false;
}

bool ring_create(ring_writer *self, const char *path, uint32_t blocks) {
  const uint64_t bytes = ring_file_bytes(blocks);
  struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  self->head = NULL;
  self->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (self->fd < 0 || fcntl(self->fd, F_SETLK, &whole) != 0) return give_up(self, path);
  if ((errno = posix_fallocate(self->fd, 0, (off_t)bytes)) != 0) return give_up(self, path);
  void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
  if (at == MAP_FAILED) return give_up(self, path);
  (void)madvise(at, bytes, MADV_DONTFORK);
  ring_head *head = at;
  head->version = RING_VERSION;
  head->byte_order = RING_BYTE_ORDER;
  head->blocks = blocks;
  head->pid = (uint32_t)getpid();
  head->realtime_ns = pd_clock_ns(CLOCK_REALTIME);
  atomic_store_explicit(&head->mark, RING_MARK, memory_order_release);
  self->head = head;
  return true;
}

void ring_end(ring_writer *self) {
  if (self->head) atomic_store_explicit(&self->head->ended, 1, memory_order_release);
}

void ring_lost(ring_writer *self, uint32_t loss, uint64_t count) {
  if (self->head && loss < RING_LOSSES) atomic_fetch_add_explicit(&self->head->lost[loss], count, memory_order_relaxed);
}

uint64_t ring_lost_so_far(const ring_writer *self, uint32_t loss) {
  const bool is_known = self->head && loss < RING_LOSSES;
  return is_known ? atomic_load_explicit(&self->head->lost[loss], memory_order_relaxed) : 0;
}

/* A thread keeps its block until that is full or the thread ends. Many threads leave a quarter of the ring to lanes
 * without one, which have the device's records. */
static bool may_hold(const ring_lane *self, uint32_t blocks) {
  ring_writer *ring = self->ring;
  if (!self->thread) return true;
  if (atomic_fetch_add_explicit(&ring->held, 1, memory_order_relaxed) < blocks - blocks / 4) return true;
  atomic_fetch_sub_explicit(&ring->held, 1, memory_order_relaxed);
  return false;
}

static ring_block *take_block(ring_lane *self) {
  ring_writer *ring = self->ring;
  const uint32_t blocks = ring->head ? ring->head->blocks : 0;
  if (!may_hold(self, blocks)) return NULL;
  const uint32_t from = atomic_load_explicit(&ring->hint, memory_order_relaxed);
  for (uint32_t i = 0; i < blocks; i++) {
    const uint32_t index = (from + i) % blocks;
    ring_block *block = ring_block_at(ring->head, index);
    uint32_t state = RING_FREE;
    if (atomic_load_explicit(&block->state, memory_order_relaxed) != RING_FREE ||
        !atomic_compare_exchange_strong_explicit(&block->state, &state, RING_TAKEN, memory_order_acquire,
                                                 memory_order_relaxed))
      continue;
    atomic_store_explicit(&ring->hint, index + 1, memory_order_relaxed);
    block->kind = self->kind;
    block->thread = self->thread;
    block->row_bytes = self->row_bytes;
    block->first = self->count;
    atomic_store_explicit(&block->published, 0, memory_order_relaxed);
    atomic_store_explicit(&block->state, RING_OPEN, memory_order_release);
    return block;
  }
  if (self->thread) atomic_fetch_sub_explicit(&ring->held, 1, memory_order_relaxed);
  return NULL;
}

void ring_lane_close(ring_lane *self) {
  if (!self->block) return;
  atomic_store_explicit(&self->block->state, RING_FULL, memory_order_release);
  if (self->thread) atomic_fetch_sub_explicit(&self->ring->held, 1, memory_order_relaxed);
  self->block = NULL;
}

bool ring_put(ring_lane *self, const void *data, uint32_t bytes, uint32_t rows) {
  if (bytes > RING_ROOM) return false;
  uint64_t published = self->block ? atomic_load_explicit(&self->block->published, memory_order_relaxed) : 0;
  if (self->block && (uint32_t)published + bytes > RING_ROOM) ring_lane_close(self);
  if (!self->block) {
    self->block = take_block(self);
    published = 0;
  }
  if (!self->block) return false;
  const uint32_t used = (uint32_t)published;
  memcpy(ring_rows(self->block) + used, data, bytes);
  const uint64_t crc = crc32c((uint32_t)(published >> 32), data, bytes);
  atomic_store_explicit(&self->block->published, crc << 32 | (used + bytes), memory_order_release);
  self->count += rows;
  return true;
}
