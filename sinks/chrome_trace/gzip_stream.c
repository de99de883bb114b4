/* See gzip_stream.h. Deflate and checksums by ISA-L, their combination by zlib. */
#include "gzip_stream.h"

#include <pdhost/processors.h>
#include <pdhost/thread_start.h>

#include <isa-l.h>
#include <stdlib.h>
#include <zlib.h>

enum {
  CHUNK_BYTES = 1 << 20,
  PACKED_BYTES = CHUNK_BYTES + CHUNK_BYTES / 8 + 1024, /* incompressible text grows by 5 bytes per 64 KiB */
  MAX_WORKERS = 16 /* several times what one thread formats (bench/RESULTS.md), and a bound on the memory: 70 MB */
};

typedef enum chunk_state { CHUNK_FREE, CHUNK_READY, CHUNK_TAKEN, CHUNK_DONE } chunk_state;

typedef struct chunk {
  chunk_state state;
  uint32_t crc;
  uint32_t failed;
  size_t text_bytes, packed_bytes;
  uint8_t *text, *packed;
} chunk;

struct gzip_stream {
  text_write write;
  void *to;
  pd_status status;
  uint32_t crc;
  uint64_t total_bytes;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  pthread_t workers[MAX_WORKERS];
  uint32_t worker_count, chunk_count;
  bool ending;
  uint64_t filled, taken, written; /* chunks so far; a chunk's place is its number modulo chunk_count */
  chunk *chunks;
  uint8_t *level; /* of the writing thread, when there is no other */
};

/* Compresses in one call: no history before it, byte boundary after it. */
static void pack(chunk *self, uint8_t *level) {
  struct isal_zstream stream;
  isal_deflate_init(&stream);
  stream.level = 1;
  stream.level_buf = level;
  stream.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
  stream.gzip_flag = IGZIP_DEFLATE;
  stream.flush = FULL_FLUSH;
  stream.end_of_stream = 0;
  stream.next_in = self->text;
  stream.avail_in = (uint32_t)self->text_bytes;
  stream.next_out = self->packed;
  stream.avail_out = PACKED_BYTES;
  self->failed = isal_deflate(&stream) != COMP_OK || stream.avail_in != 0;
  self->packed_bytes = PACKED_BYTES - stream.avail_out;
  self->crc = crc32_gzip_refl(0, self->text, self->text_bytes);
}

static void *work(void *given) {
  gzip_stream *self = given;
  uint8_t *level = malloc(ISAL_DEF_LVL1_DEFAULT);
  pthread_mutex_lock(&self->lock);
  for (;;) {
    while (self->taken == self->filled && !self->ending) pthread_cond_wait(&self->changed, &self->lock);
    if (self->taken == self->filled) break;
    chunk *mine = &self->chunks[self->taken++ % self->chunk_count];
    mine->state = CHUNK_TAKEN;
    pthread_mutex_unlock(&self->lock);
    if (level)
      pack(mine, level);
    else
      mine->failed = 1;
    pthread_mutex_lock(&self->lock);
    mine->state = CHUNK_DONE;
    pthread_cond_broadcast(&self->changed);
  }
  pthread_mutex_unlock(&self->lock);
  free(level);
  return NULL;
}

pd_status gzip_stream_open(gzip_stream **out, text_write write, void *to) {
  static const uint8_t header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
  const uint32_t cores = pd_processors_allowed(), wanted = cores > MAX_WORKERS ? MAX_WORKERS : cores;
  gzip_stream *self = calloc(1, sizeof *self);
  if (!self) return PD_NO_MEMORY;
  pthread_mutex_init(&self->lock, NULL);
  pthread_cond_init(&self->changed, NULL);
  self->write = write;
  self->to = to;
  self->chunk_count = 2 * wanted;
  self->chunks = calloc(self->chunk_count, sizeof *self->chunks);
  self->level = malloc(ISAL_DEF_LVL1_DEFAULT);
  if (!self->chunks || !self->level) goto no_memory;
  for (uint32_t i = 0; i < self->chunk_count; i++) {
    self->chunks[i].text = malloc(CHUNK_BYTES);
    self->chunks[i].packed = malloc(PACKED_BYTES);
    if (!self->chunks[i].text || !self->chunks[i].packed) goto no_memory;
  }
  while (self->worker_count < wanted && pd_thread_start(&self->workers[self->worker_count], work, self) == 0)
    self->worker_count++; /* with none at all the writing thread compresses */
  self->status = write(to, header, sizeof header);
  *out = self;
  return PD_OK;
no_memory:
  gzip_stream_close(self);
  return PD_NO_MEMORY;
}

/* Waits for the oldest chunk in flight and writes it. The lock is held. */
static void write_oldest(gzip_stream *self) {
  chunk *oldest = &self->chunks[self->written % self->chunk_count];
  if (!self->worker_count && oldest->state == CHUNK_READY) {
    self->taken++;
    pack(oldest, self->level);
    oldest->state = CHUNK_DONE;
  }
  while (oldest->state != CHUNK_DONE) pthread_cond_wait(&self->changed, &self->lock);
  pthread_mutex_unlock(&self->lock);
  if (oldest->failed && self->status == PD_OK) self->status = PD_NO_MEMORY;
  if (self->status == PD_OK) self->status = self->write(self->to, oldest->packed, oldest->packed_bytes);
  self->crc = (uint32_t)crc32_combine(self->crc, oldest->crc, (z_off_t)oldest->text_bytes);
  self->total_bytes += oldest->text_bytes;
  pthread_mutex_lock(&self->lock);
  oldest->state = CHUNK_FREE;
  oldest->text_bytes = 0;
  self->written++;
}

/* The chunk being filled is complete. */
static void hand_over(gzip_stream *self) {
  pthread_mutex_lock(&self->lock);
  self->chunks[self->filled++ % self->chunk_count].state = CHUNK_READY;
  pthread_cond_broadcast(&self->changed);
  if (self->filled - self->written == self->chunk_count) write_oldest(self);
  pthread_mutex_unlock(&self->lock);
}

pd_status gzip_stream_write(gzip_stream *self, const void *data, uint64_t bytes) {
  const uint8_t *from = data;
  while (bytes && self->status == PD_OK) {
    chunk *open = &self->chunks[self->filled % self->chunk_count];
    const size_t room = CHUNK_BYTES - open->text_bytes;
    const size_t piece = bytes < room ? (size_t)bytes : room;
    memcpy(open->text + open->text_bytes, from, piece);
    open->text_bytes += piece;
    from += piece;
    bytes -= piece;
    if (open->text_bytes == CHUNK_BYTES) hand_over(self);
  }
  return self->status;
}

pd_status gzip_stream_finish(gzip_stream *self) {
  if (self->chunks[self->filled % self->chunk_count].text_bytes) hand_over(self);
  pthread_mutex_lock(&self->lock);
  while (self->written < self->filled) write_oldest(self);
  pthread_mutex_unlock(&self->lock);
  /* An empty last block, then checksum and length, low byte first. */
  uint8_t end[10] = {3, 0};
  for (int i = 0; i < 4; i++) {
    end[2 + i] = (uint8_t)(self->crc >> (8 * i));
    end[6 + i] = (uint8_t)(self->total_bytes >> (8 * i));
  }
  if (self->status == PD_OK) self->status = self->write(self->to, end, sizeof end);
  return self->status;
}

void gzip_stream_close(gzip_stream *self) {
  if (!self) return;
  pthread_mutex_lock(&self->lock);
  self->ending = true;
  pthread_cond_broadcast(&self->changed);
  pthread_mutex_unlock(&self->lock);
  for (uint32_t i = 0; i < self->worker_count; i++) pthread_join(self->workers[i], NULL);
  for (uint32_t i = 0; self->chunks && i < self->chunk_count; i++) {
    free(self->chunks[i].text);
    free(self->chunks[i].packed);
  }
  free(self->chunks);
  free(self->level);
  pthread_cond_destroy(&self->changed);
  pthread_mutex_destroy(&self->lock);
  free(self);
}
