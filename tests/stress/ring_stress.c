/* Threads write to a shared ring while another one reads it: nothing is lost unsaid, nothing comes twice. */
#include "capture/ring_read.h"
#include "capture/ring_write.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { WRITERS = 4, ROWS = 200000, BLOCKS = 12 };

typedef struct row {
  uint64_t number, thread;
} row;

static ring_writer ring;
static uint64_t refused[WRITERS];
static _Atomic int writing = WRITERS;

static void *write_rows(void *index) {
  const uint64_t thread = (uint64_t)(uintptr_t)index;
  ring_lane lane = {&ring, 1, (uint32_t)thread, sizeof(row), NULL, 0};
  for (uint64_t i = 0; i < ROWS; i++) {
    const row one = {i, thread};
    if (ring_put(&lane, &one, sizeof one, 1)) continue;
    refused[thread]++;
    ring_lost(&ring, 0, 1);
  }
  ring_lane_close(&lane);
  atomic_fetch_sub(&writing, 1);
  return NULL;
}

typedef struct counts {
  uint64_t rows[WRITERS], next[WRITERS];
  bool wrong;
} counts;

static pd_status take(void *user, uint32_t kind, uint32_t thread, uint32_t row_bytes, uint64_t first, const void *data,
                      uint32_t bytes) {
  counts *self = user;
  const row *rows = data;
  (void)first;
  self->wrong |= kind != 1 || thread >= WRITERS || row_bytes != sizeof(row);
  for (uint32_t i = 0; !self->wrong && i < bytes / sizeof(row); i++) {
    self->wrong |= rows[i].thread != thread;
    self->rows[thread]++;
  }
  return PD_OK;
}

int main(void) {
  char folder[] = "/tmp/pdhost_ring_XXXXXX", path[64];
  ring_reader reader;
  counts got = {.wrong = false};
  pthread_t threads[WRITERS];
  if (!mkdtemp(folder)) return 1;
  (void)snprintf(path, sizeof path, "%s/ring", folder);
  if (!ring_create(&ring, path, BLOCKS) || ring_open(&reader, path) != PD_OK) return 1;
  for (uintptr_t i = 0; i < WRITERS; i++)
    if (pthread_create(&threads[i], NULL, write_rows, (void *)i) != 0) return 1;
  while (atomic_load(&writing)) {
    (void)ring_drain(&reader, take, &got);
    (void)usleep(200);
  }
  for (int i = 0; i < WRITERS; i++) (void)pthread_join(threads[i], NULL);
  (void)ring_drain(&reader, take, &got);
  uint64_t lost = 0;
  for (int i = 0; i < WRITERS; i++) {
    lost += refused[i];
    if (got.rows[i] + refused[i] != ROWS) got.wrong = true;
  }
  const bool good = !got.wrong && !reader.torn && lost == ring_lost_count(&reader, 0);
  printf("%s: %llu of %d rows found no block\n", good ? "whole" : "WRONG", (unsigned long long)lost, WRITERS * ROWS);
  ring_close(&reader);
  (void)unlink(path);
  (void)rmdir(folder);
  return good ? 0 : 1;
}
