/* See room.h. */
#include "room.h"

#include "shared_file.h"

#include <sys/mman.h>
#include <unistd.h>

/* Only what is used becomes memory. Texts and threads rarely need a hundredth of it. */
#define PIECES_BYTES ((uint64_t)64 << 20)
enum { TOUCHED_BYTES = 32 << 20, PIECE_ALIGN = 64 };

pd_status room_open(uint64_t max_bytes, bool shared, trace_room **out) {
  const uint64_t most = (uint64_t)CHUNK_BYTES * (UINT32_MAX - 1);
  uint64_t chunk_bytes = max_bytes / CHUNK_BYTES * CHUNK_BYTES;
  *out = NULL;
  if (!chunk_bytes) chunk_bytes = CHUNK_BYTES;
  if (chunk_bytes > most) chunk_bytes = most;
  const uint64_t bytes = PIECES_BYTES + chunk_bytes;
  const int file = shared ? shared_file_make(ROOM_FILE, bytes) : -1;
  const int kind = (shared ? MAP_SHARED : MAP_PRIVATE) | MAP_NORESERVE | (file < 0 ? MAP_ANONYMOUS : 0);
  /* cppcheck-suppress invalidFunctionArg ; without a file, it is -1 */
  unsigned char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, file, 0);
  if (base == MAP_FAILED) {
    if (file >= 0) (void)close(file);
    return PD_NO_MEMORY;
  }
  trace_room *room = (trace_room *)(void *)base;
  room->bytes = bytes;
  room->at = room;
  room->file = file;
  room->chunks = base + PIECES_BYTES;
  room->chunk_bytes = chunk_bytes;
  atomic_init(&room->used, (sizeof *room + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN);
  *out = room;
  return PD_OK;
}

void room_touch(const trace_room *self) {
  const uint64_t bytes = self->chunk_bytes < TOUCHED_BYTES ? self->chunk_bytes : TOUCHED_BYTES;
  (void)madvise(self->chunks, bytes, MADV_HUGEPAGE); /* only a wish */
  for (uint64_t at = 0; at < bytes; at += 4096) ((volatile unsigned char *)self->chunks)[at] = 0;
}

void room_close(trace_room *self) {
  if (!self) return;
  if (self->file >= 0) (void)close(self->file);
  munmap(self, self->bytes);
}

void *room_take(trace_room *self, uint64_t bytes) {
  const uint64_t all = (bytes + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN;
  uint_fast64_t at = atomic_load_explicit(&self->used, memory_order_relaxed);
  do {
    if (bytes > PIECES_BYTES || all > PIECES_BYTES - at) return NULL;
  } while (
      !atomic_compare_exchange_weak_explicit(&self->used, &at, at + all, memory_order_relaxed, memory_order_relaxed));
  return (unsigned char *)self + at;
}
