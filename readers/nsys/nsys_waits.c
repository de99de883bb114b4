/* Threads that wait in the system: OSRT_API has each call of the C library that blocks. See nsys_reader.h.
 *
 * The thread that launches the most is the loop's. Where it is blocked, and no thread of the process calls CUDA
 * meanwhile, it waits for what is not the device: for its next batch. A wait during the backward pass is none, since
 * another thread launches then; nor is one inside a call of CUDA. */
#include "nsys_reader.h"

#include <string.h>

/* Shorter waits are locks. */
enum { LEAST_WAIT_NS = 20000 };

static bool is_wait(const char *name) {
  static const char *const words[] = {"poll",
                                      "ppoll",
                                      "select",
                                      "pselect",
                                      "epoll_wait",
                                      "epoll_pwait",
                                      "read",
                                      "recv",
                                      "recvmsg",
                                      "recvfrom",
                                      "futex",
                                      "sem_wait",
                                      "sem_timedwait",
                                      "sem_clockwait",
                                      "pthread_cond_wait",
                                      "pthread_cond_timedwait",
                                      "pthread_cond_clockwait"};
  for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
    if (strcmp(name, words[i]) == 0) return true;
  return false;
}

/* Whether any call of CUDA touches [start, end). */
static bool calls_meanwhile(const nsys_reader *self, int64_t start, int64_t end) {
  uint64_t low = 0, high = self->call_count;
  while (low < high) { /* the first that begins at `end` or later */
    const uint64_t middle = low + (high - low) / 2;
    if (self->calls[middle].start < end)
      low = middle + 1;
    else
      high = middle;
  }
  return low > 0 && self->calls[low - 1].latest > start;
}

static bool loop_thread(const nsys_reader *self, uint32_t *thread) {
  int64_t most = 0;
  for (uint32_t i = 0; i < self->thread_room; i++) {
    if (self->launches[i] <= most) continue;
    most = self->launches[i];
    *thread = i;
  }
  return most > 0;
}

void nsys_read_waits(nsys_reader *self) {
  enum { START, END, TID, NAME };
  uint32_t loop = 0;
  nsys_rows rows;
  const bool is_marked = self->facts & PD_FACT_INPUT; /* by the program itself, which knows better */
  if (is_marked || !loop_thread(self, &loop)) return;
  if (!nsys_open_rows(self, &rows, "OSRT_API", "start end globalTid nameId", "globalTid")) return;
  sqlite3_stmt *texts = self->strings;
  while (nsys_rows_next(&rows) && !self->no_memory) {
    if (!nsys_has(&rows, START) || !nsys_has(&rows, END)) continue;
    pd_read_range range = {.start_ns = nsys_integer(&rows, START),
                           .end_ns = nsys_integer(&rows, END),
                           .kind = PD_RANGE_DATALOADER,
                           .part = PD_PART_DATALOADER};
    if (range.end_ns / 2 - range.start_ns / 2 < LEAST_WAIT_NS / 2 ||
        nsys_thread_of(self, nsys_integer(&rows, TID)) != loop || calls_meanwhile(self, range.start_ns, range.end_ns))
      continue;
    const nsys_name *name = nsys_name_of(self, &rows, NAME);
    if (!name || !texts || sqlite3_bind_int64(texts, 1, name->key) != SQLITE_OK) continue;
    const bool waits = sqlite3_step(texts) == SQLITE_ROW && sqlite3_column_text(texts, 0) &&
                       is_wait((const char *)sqlite3_column_text(texts, 0));
    (void)sqlite3_reset(texts);
    range.name = name->id;
    range.thread = loop;
    if (waits) self->intake->range(self->intake, &range);
  }
  self->facts |= PD_FACT_INPUT;
  nsys_close_rows(self, &rows);
}
