/* See host_switches.h. Under perf_event_paranoid 2 an event that counts switches is refused, but one that counts
 * nothing may have their records; `exclude_kernel` is part of what is allowed. */
#include "host_switches.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Records of 24 bytes: 2700 switches between two looks. */
enum { PAGES = 16 };

/* With sample_id_all, what follows the head of a record that has no more of its own. */
typedef struct switch_record {
  struct perf_event_header head;
  uint32_t pid, tid;
  uint64_t time;
} switch_record;

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

bool host_switches_open(host_switches *self, pid_t tid) {
  struct perf_event_attr wanted = {.type = PERF_TYPE_SOFTWARE,
                                   .size = sizeof wanted,
                                   .config = PERF_COUNT_SW_DUMMY,
                                   .sample_type = PERF_SAMPLE_TIME | PERF_SAMPLE_TID,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .sample_id_all = 1,
                                   .context_switch = 1,
                                   .use_clockid = 1,
                                   .clockid = CLOCK_REALTIME};
  self->map = MAP_FAILED;
  self->fd = (int)syscall(SYS_perf_event_open, &wanted, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (self->fd < 0) return false;
  self->map = mmap(NULL, (PAGES + 1) * page_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, self->fd, 0);
  if (self->map != MAP_FAILED) return true;
  const int why = errno;
  host_switches_close(self);
  errno = why;
  return false;
}

void host_switches_close(host_switches *self) {
  if (self->fd < 0) return;
  if (self->map != MAP_FAILED) (void)munmap(self->map, (PAGES + 1) * page_bytes());
  (void)close(self->fd);
  self->fd = -1;
}

/* A record may go on at the begin of the pages. */
static void copy_out(const char *pages, uint64_t bytes, uint64_t at, void *out, uint64_t count) {
  const uint64_t from = at % bytes, first = count < bytes - from ? count : bytes - from;
  memcpy(out, pages + from, first);
  memcpy((char *)out + first, pages, count - first);
}

void host_switches_take(host_switches *self, void (*take)(void *user, host_switch what, int64_t ns), void *user) {
  struct perf_event_mmap_page *about = self->map;
  const char *pages = (const char *)self->map + page_bytes();
  const uint64_t bytes = PAGES * page_bytes();
  const uint64_t head = __atomic_load_n(&about->data_head, __ATOMIC_ACQUIRE);
  uint64_t at = about->data_tail;
  while (at < head) {
    switch_record record;
    copy_out(pages, bytes, at, &record.head, sizeof record.head);
    if (record.head.size < sizeof record.head) break;
    if (record.head.type == PERF_RECORD_LOST) {
      take(user, HOST_SWITCH_LOST, 0);
    } else if (record.head.type == PERF_RECORD_SWITCH && record.head.size >= sizeof record) {
      copy_out(pages, bytes, at, &record, sizeof record);
      const host_switch what = !(record.head.misc & PERF_RECORD_MISC_SWITCH_OUT)        ? HOST_SWITCH_IN
                               : record.head.misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT ? HOST_SWITCH_PREEMPTED
                                                                                        : HOST_SWITCH_OUT;
      take(user, what, (int64_t)record.time);
    }
    at += record.head.size;
  }
  __atomic_store_n(&about->data_tail, head, __ATOMIC_RELEASE);
}
