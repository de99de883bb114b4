/* The shared ring: rows in, rows out, what is full, torn, or left by a process that died. */
#include "pd_test.h"

#include "capture/ring_read.h"
#include "capture/ring_write.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct row {
  uint64_t number, twice;
} row;

static char folder[] = "/tmp/pdhost_ring_XXXXXX", path[64];
static ring_writer writer;
static ring_reader reader;

static void open_ring(uint32_t blocks) {
  cr_assert(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/ring", folder);
  writer = (ring_writer){0};
  cr_assert(ring_create(&writer, path, blocks));
  cr_assert_eq(ring_open(&reader, path), PD_OK);
}

static void close_ring(void) {
  ring_close(&reader);
  (void)unlink(path);
  (void)rmdir(folder);
}

/* Blocks come in the order of the file; `first` says where their rows belong. */
typedef struct taken {
  uint64_t rows, sum;
  uint32_t kind, thread;
  bool in_order;
} taken;

static pd_status take(void *user, uint32_t kind, uint32_t thread, uint32_t row_bytes, uint64_t first, const void *data,
                      uint32_t bytes) {
  taken *self = user;
  const row *rows = data;
  cr_assert_eq(row_bytes, sizeof(row));
  self->kind = kind;
  self->thread = thread;
  for (uint32_t i = 0; i < bytes / sizeof(row); i++) {
    cr_assert_eq(rows[i].twice, 2 * rows[i].number);
    self->in_order &= rows[i].number == first + i;
    self->sum += rows[i].number;
    self->rows++;
  }
  return PD_OK;
}

static bool put(ring_lane *lane, uint64_t number) {
  const row one = {number, 2 * number};
  return ring_put(lane, &one, sizeof one, 1);
}

PD_TEST(ring, rows_come_out_as_they_went_in) {
  taken got = {.in_order = true};
  open_ring(4);
  ring_lane lane = {&writer, 27, 4711, sizeof(row), NULL, 0};
  for (uint64_t i = 0; i < 30000; i++) {
    cr_assert(put(&lane, i), "row %llu", (unsigned long long)i);
    if (i % 1000 == 0) cr_assert_eq(ring_drain(&reader, take, &got), PD_OK);
  }
  cr_assert_eq(ring_drain(&reader, take, &got), PD_OK);
  cr_assert_eq(got.rows, 30000);
  cr_assert_eq(got.sum, 29999 * UINT64_C(15000));
  cr_assert(got.in_order);
  cr_assert_eq(got.kind, 27);
  cr_assert_eq(got.thread, 4711);
  close_ring();
}

PD_TEST(ring, a_full_ring_refuses_rows_and_takes_more_when_it_was_drained) {
  taken got = {.in_order = true};
  open_ring(2);
  ring_lane lane = {&writer, 1, 1, sizeof(row), NULL, 0};
  uint64_t i = 0;
  while (put(&lane, i)) i++;
  cr_assert_eq(i, 2 * (RING_ROOM / sizeof(row)));
  cr_assert_not(put(&lane, i));
  ring_lost(&writer, 1, 2);
  cr_assert_eq(ring_drain(&reader, take, &got), PD_OK);
  cr_assert(put(&lane, i));
  cr_assert_eq(ring_drain(&reader, take, &got), PD_OK);
  cr_assert_eq(got.rows, i + 1);
  cr_assert(got.in_order);
  cr_assert_eq(ring_lost_count(&reader, 1), 2);
  cr_assert_eq(ring_lost_count(&reader, 0), 0);
  cr_assert_eq(ring_lost_count(&reader, RING_LOSSES), 0);
  close_ring();
}

PD_TEST(ring, threads_leave_a_quarter_of_the_blocks_to_what_is_of_none) {
  taken got = {.in_order = true};
  open_ring(8);
  ring_lane threads[7], none = {&writer, 9, 0, sizeof(row), NULL, 0};
  for (uint32_t i = 0; i < 7; i++) threads[i] = (ring_lane){&writer, 1, i + 1, sizeof(row), NULL, 0};
  for (uint32_t i = 0; i < 6; i++) cr_assert(put(&threads[i], 0));
  cr_assert_not(put(&threads[6], 0));
  for (uint64_t i = 0; i < 2 * (RING_ROOM / sizeof(row)); i++) cr_assert(put(&none, i));
  ring_lane_close(&threads[0]);
  cr_assert_eq(ring_drain(&reader, take, &got), PD_OK);
  cr_assert(put(&threads[6], 0), "the place of a thread that has ended");
  cr_assert_not(put(&threads[0], 1));
  close_ring();
}

PD_TEST(ring, a_row_that_is_larger_than_a_block_is_refused) {
  static char large[RING_BLOCK_BYTES];
  open_ring(2);
  ring_lane lane = {&writer, 1, 1, 8, NULL, 0};
  cr_assert_not(ring_put(&lane, large, sizeof large, 1));
  cr_assert(ring_put(&lane, large, RING_ROOM, 1));
  close_ring();
}

PD_TEST(ring, what_was_overwritten_is_left_out_and_counted) {
  taken got = {.in_order = true};
  open_ring(3);
  ring_lane lane = {&writer, 1, 1, sizeof(row), NULL, 0}, other = {&writer, 2, 2, sizeof(row), NULL, 0};
  for (uint64_t i = 0; i < 10; i++) put(&lane, i);
  cr_assert_eq(ring_drain(&reader, take, &got), PD_OK);
  for (uint64_t i = 10; i < 20; i++) put(&lane, i);
  ring_rows(lane.block)[15 * sizeof(row)] ^= 1; /* a stray pointer of the program's */
  cr_assert_eq(ring_drain(&reader, take, &got), PD_OK);
  cr_assert_eq(got.rows, 10);
  cr_assert_eq(reader.torn, 1);
  cr_assert_eq(reader.torn_bytes, 10 * sizeof(row));
  taken rest = {.in_order = true};
  for (uint64_t i = 0; i < 5; i++) put(&other, i);
  cr_assert_eq(ring_drain(&reader, take, &rest), PD_OK);
  cr_assert_eq(rest.rows, 5);
  close_ring();
}

PD_TEST(ring, sizes_that_cannot_be_are_not_believed) {
  taken got = {.in_order = true};
  open_ring(3);
  ring_lane lane = {&writer, 1, 1, sizeof(row), NULL, 0};
  put(&lane, 0);
  atomic_store(&lane.block->published, UINT64_C(0xFFFFFFFF));
  cr_assert_eq(ring_drain(&reader, take, &got), PD_OK);
  cr_assert_eq(reader.torn, 1);
  cr_assert_eq(got.rows, 0);
  close_ring();
}

PD_TEST(ring, a_file_that_is_no_ring_is_refused) {
  ring_reader other;
  open_ring(1);
  cr_assert_eq(ring_open(&other, "/nonexistent/ring"), PD_IO);
  ring_close(&other);
  atomic_store(&writer.head->mark, 1);
  cr_assert_eq(ring_open(&other, path), PD_INVALID);
  ring_close(&other);
  atomic_store(&writer.head->mark, 0);
  cr_assert_eq(ring_open(&other, path), PD_STOP);
  ring_close(&other);
  atomic_store(&writer.head->mark, RING_MARK);
  writer.head->blocks = 2;
  cr_assert_eq(ring_open(&other, path), PD_INVALID);
  ring_close(&other);
  writer.head->blocks = 1;
  close_ring();
}

/* A writer that is killed at any moment leaves whole rows, all that it had published, and none besides. */
PD_TEST(ring, a_killed_writer_leaves_whole_rows) {
  cr_assert(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/ring", folder);
  for (unsigned round = 0; round < 60; round++) {
    taken got = {.in_order = true};
    const pid_t child = fork();
    if (child == 0) {
      writer = (ring_writer){0};
      ring_lane lane = {&writer, 1, 1, sizeof(row), NULL, 0};
      if (!ring_create(&writer, path, 4)) _exit(1);
      for (uint64_t i = 0;; i += put(&lane, i)) {}
    }
    pd_status status;
    do status = ring_open(&reader, path), status != PD_OK ? ring_close(&reader) : (void)0;
    while (status == PD_STOP || status == PD_IO);
    cr_assert_eq(status, PD_OK);
    for (unsigned i = 0; i <= round || !got.rows; i++) cr_assert_eq(ring_drain(&reader, take, &got), PD_OK);
    cr_assert(ring_writer_lives(&reader));
    cr_assert_eq(reader.pid, (uint32_t)child);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    cr_assert_not(ring_writer_lives(&reader));
    cr_assert_eq(ring_drain(&reader, take, &got), PD_OK);
    cr_assert_eq(reader.torn, 0);
    cr_assert_gt(got.rows, 0);
    ring_close(&reader);
    (void)unlink(path);
  }
  (void)rmdir(folder);
}

PD_TEST(ring, a_forked_child_holds_nothing_of_it) {
  int from_grandchild[2];
  cr_assert(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/ring", folder);
  cr_assert_eq(pipe(from_grandchild), 0);
  const pid_t child = fork();
  if (child == 0) {
    writer = (ring_writer){0};
    if (!ring_create(&writer, path, 1)) _exit(1);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      pause();
      _exit(0);
    }
    (void)!write(from_grandchild[1], &grandchild, sizeof grandchild);
    pause();
  }
  pid_t grandchild = 0;
  cr_assert_eq(read(from_grandchild[0], &grandchild, sizeof grandchild), (ssize_t)sizeof grandchild);
  cr_assert_eq(ring_open(&reader, path), PD_OK);
  cr_assert(ring_writer_lives(&reader));
  kill(child, SIGKILL);
  waitpid(child, NULL, 0);
  const bool lives = ring_writer_lives(&reader);
  kill(grandchild, SIGKILL);
  cr_assert_not(lives);
  close_ring();
}
