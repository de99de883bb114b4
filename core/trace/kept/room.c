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
  unsigned char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, kind, file, 0);
  if (base == MAP_FAILED) {
    if (file >= 0) (void)close(file);
    return PD_NO_MEMORY;
  }
  trace_room *room = (trace_room *)(void *)base;
  room->place =
      (room_place){.bytes = bytes, .at = room, .file = file, .chunks = base + PIECES_BYTES, .chunk_bytes = chunk_bytes};
  atomic_init(&room->used, (sizeof *room + PIECE_ALIGN - 1) / PIECE_ALIGN * PIECE_ALIGN);
  *out = room;
  return PD_OK;
}

void room_touch(const trace_room *self) {
  const room_place *at = &self->place;
  const uint64_t bytes = at->chunk_bytes < TOUCHED_BYTES ? at->chunk_bytes : TOUCHED_BYTES;
  (void)madvise(at->chunks, bytes, MADV_HUGEPAGE); /* only a wish */
  for (uint64_t i = 0; i < bytes; i += 4096) ((volatile unsigned char *)at->chunks)[i] = 0;
}

void room_close(trace_room *self) {
  if (!self) return;
  if (self->place.file >= 0) (void)close(self->place.file);
  munmap(self, self->place.bytes);
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

/* ---- after its process died ---- */

bool room_has_piece(const trace_room *self, const void *at, uint64_t bytes) {
  const uintptr_t base = (uintptr_t)self, address = (uintptr_t)at;
  const uint64_t used = atomic_load_explicit(&self->used, memory_order_relaxed);
  if (used > PIECES_BYTES || address < base + sizeof *self || address % PIECE_ALIGN) return false;
  return address - base <= used && bytes <= used - (address - base);
}

static bool has_chunk(const trace_room *self, const chunk *at) {
  const uintptr_t base = (uintptr_t)self->place.chunks, address = (uintptr_t)at;
  return address >= base && address - base < self->place.chunk_bytes && (address - base) % CHUNK_BYTES == 0;
}

bool room_has_list(const trace_room *self, const chunk_list *list, uint32_t record_bytes) {
  const uint32_t capacity = (CHUNK_BYTES - CHUNK_HEAD) / record_bytes;
  const chunk *at = atomic_load_explicit(&list->first, memory_order_acquire);
  uint64_t left = self->place.chunk_bytes / CHUNK_BYTES;
  if (list->record_bytes != record_bytes) return false;
  if (!at) return list->read == 0;
  for (uint32_t least = list->read; at; least = 0) {
    if (!left-- || !has_chunk(self, at)) return false;
    const uint32_t count = atomic_load_explicit(&at->count, memory_order_acquire);
    if (count > capacity || count < least) return false;
    at = atomic_load_explicit(&at->next, memory_order_acquire);
  }
  return true;
}
