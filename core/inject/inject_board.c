/* See inject_board.h. */
#include "inject_board.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

static record_board *map_board(const char *folder) {
  char path[320];
  (void)snprintf(path, sizeof path, "%s/" RECORD_BOARD_FILE, folder);
  const int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return NULL;
  record_board *board = NULL;
  if (lseek(fd, 0, SEEK_END) == (off_t)sizeof *board)
    board = mmap(NULL, sizeof *board, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  (void)close(fd);
  if (board == MAP_FAILED || !board) return NULL;
  if (board->mark == RECORD_MARK && board->version == RECORD_VERSION) return board;
  (void)munmap(board, sizeof *board);
  return NULL;
}

static void read_command(char *out, size_t room) {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t bytes = fd >= 0 ? read(fd, out, room - 1) : 0;
  if (fd >= 0) (void)close(fd);
  while (bytes > 0 && !out[bytes - 1]) bytes--;
  if (bytes < 0) bytes = 0;
  for (ssize_t i = 0; i < bytes; i++)
    if (!out[i]) out[i] = ' ';
  out[bytes] = '\0';
}

/* The first of these variables that holds a number; -1: none does. */
static int32_t first_number(const char *const *names) {
  for (; *names; names++) {
    const char *text = getenv(*names);
    char *end;
    if (!text || !*text) continue;
    const long number = strtol(text, &end, 10);
    if (!*end && number >= 0 && number < INT32_MAX) return (int32_t)number;
  }
  return -1;
}

static void introduce(record_slot *slot) {
  static const char *const rank[] = {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", NULL};
  static const char *const ranks[] = {"WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS", NULL};
  slot->pid = (uint32_t)getpid();
  slot->rank = first_number(rank);
  slot->ranks = first_number(ranks);
  if (slot->ranks < 2 || slot->rank < 0 || slot->rank >= slot->ranks) slot->rank = slot->ranks = 0;
  read_command(slot->command, sizeof slot->command);
}

bool inject_board_open(inject_board *self) {
  const char *folder = getenv(RECORD_ENVIRONMENT);
  if (!folder || !*folder || strlen(folder) >= sizeof self->folder) return false;
  self->board = map_board(folder);
  if (!self->board) return false;
  atomic_fetch_add_explicit(&self->board->begun, 1, memory_order_relaxed);
  memcpy(self->folder, folder, strlen(folder) + 1);
  self->slot = &self->own;
  introduce(self->slot);
  return true;
}

bool inject_board_take(inject_board *self) {
  if (self->slot != &self->own) return true;
  self->number = atomic_fetch_add_explicit(&self->board->taken, 1, memory_order_relaxed);
  if (self->number >= RECORD_SLOTS) return false;
  self->slot = &self->board->slots[self->number];
  memcpy(self->slot, &self->own, sizeof self->own);
  return true;
}

/* Where the board cannot be opened nothing is known: the process may have another root by now. Who removes the board of
 * a process that was killed gives the order to stop first. */
bool inject_board_is_orphan(const inject_board *self) {
  char path[320];
  if (!self->board->locked) return false;
  (void)snprintf(path, sizeof path, "%s/" RECORD_BOARD_FILE, self->folder);
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
  const bool is_free = fd >= 0 && flock(fd, LOCK_SH | LOCK_NB) == 0;
  if (fd >= 0) (void)close(fd);
  return is_free;
}

record_order inject_board_order(const inject_board *self) {
  return (record_order)atomic_load_explicit(&self->board->order, memory_order_acquire);
}

void inject_board_state(const inject_board *self, record_state state) {
  atomic_store_explicit(&self->slot->state, (uint32_t)state, memory_order_release);
}

void inject_board_whole(const inject_board *self, int64_t until_ns) {
  atomic_store_explicit(&self->slot->whole_until_ns, until_ns, memory_order_release);
}

void inject_board_refuse(inject_board *self, record_cause cause, const char *format, ...) {
  va_list args;
  atomic_fetch_add_explicit(&self->board->refused, 1, memory_order_relaxed);
  if (atomic_load_explicit(&self->board->taken, memory_order_relaxed) < RECORD_SLOTS / 2) (void)inject_board_take(self);
  va_start(args, format);
  (void)vsnprintf(self->slot->why, sizeof self->slot->why, format, args);
  va_end(args);
  self->slot->cause = cause;
  inject_board_state(self, RECORD_REFUSED);
}
