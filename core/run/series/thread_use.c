/* See thread_use.h. The clock of a thread is exact where /proc/self/task/TID/stat counts in ticks of 10 ms. */
#include "thread_use.h"

#include "base/monotonic.h"

#include <pdhost/array.h>

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { NAME_ROOM = 16 }; /* of the kernel's names of threads */

typedef struct used_thread {
  long tid;
  int64_t used_ns;
} used_thread;

typedef struct name_sum {
  char name[NAME_ROOM];
  int64_t used_ns;
} name_sum;

struct thread_use {
  used_thread *before, *now;
  uint64_t before_room, before_count, now_room, now_count;
  name_sum *sums;
  uint64_t sum_room, sum_count;
  int64_t looked_ns; /* 0: never */
};

thread_use *thread_use_open(void) { return calloc(1, sizeof(thread_use)); }

void thread_use_close(thread_use *self) {
  if (!self) return;
  free(self->before);
  free(self->now);
  free(self->sums);
  free(self);
}

void thread_use_forget(thread_use *self) {
  self->looked_ns = 0;
  self->before_count = 0;
}

/* The kernel's number for the processor clock of a thread; see clock_getcpuclockid. False: it has ended. */
static bool used_time(long tid, int64_t *ns) {
  struct timespec used;
  const clockid_t clock = (clockid_t)((~(unsigned)tid << 3) | 6u);
  if (clock_gettime(clock, &used) != 0) return false; /* pd_clock_ns does not tell */
  *ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
  return true;
}

static bool read_name(long tid, char *name) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/comm", tid);
  FILE *file = fopen(path, "re");
  if (!file) return false;
  const bool ok = fgets(name, NAME_ROOM, file) != NULL;
  (void)fclose(file);
  if (ok) name[strcspn(name, "\n")] = 0;
  return ok;
}

static bool name_thread(long tid, char *name) {
  char first[NAME_ROOM] = "";
  if (tid == (long)getpid()) {
    snprintf(name, NAME_ROOM, "main");
    return true;
  }
  if (!read_name(tid, name)) return false;
  if (read_name((long)getpid(), first) && !strcmp(first, name)) snprintf(name, NAME_ROOM, "without a name");
  return true;
}

static int64_t used_before(const thread_use *self, long tid) {
  for (uint64_t i = 0; i < self->before_count; i++)
    if (self->before[i].tid == tid) return self->before[i].used_ns;
  return -1;
}

static void add(thread_use *self, long tid, int64_t used_ns) {
  char name[NAME_ROOM];
  if (!name_thread(tid, name)) return;
  for (uint64_t i = 0; i < self->sum_count; i++)
    if (!strcmp(self->sums[i].name, name)) {
      self->sums[i].used_ns += used_ns;
      return;
    }
  if (!PD_ARRAY_FIT(self->sums, self->sum_room, self->sum_count + 1)) return;
  self->sums[self->sum_count].used_ns = used_ns;
  memcpy(self->sums[self->sum_count++].name, name, sizeof name);
}

static void look_at_thread(thread_use *self, long tid) {
  int64_t used_ns = 0;
  if (!used_time(tid, &used_ns) || !PD_ARRAY_FIT(self->now, self->now_room, self->now_count + 1)) return;
  self->now[self->now_count++] = (used_thread){tid, used_ns};
  const int64_t before_ns = used_before(self, tid);
  if (before_ns >= 0 && used_ns >= before_ns) add(self, tid, used_ns - before_ns);
}

static void keep(thread_use *self) {
  used_thread *const rows = self->before;
  const uint64_t room = self->before_room;
  self->before = self->now;
  self->before_room = self->now_room;
  self->before_count = self->now_count;
  self->now = rows;
  self->now_room = room;
}

void thread_use_look(thread_use *self, thread_use_emit *emit, void *user) {
  DIR *folder = opendir("/proc/self/task");
  const int64_t now_ns = monotonic_ns(), span_ns = now_ns - self->looked_ns;
  self->now_count = self->sum_count = 0;
  for (const struct dirent *one = folder ? readdir(folder) : NULL; one; one = readdir(folder)) {
    const long tid = strtol(one->d_name, NULL, 10);
    if (tid > 0) look_at_thread(self, tid);
  }
  if (folder) (void)closedir(folder);
  for (uint64_t i = 0; self->looked_ns && span_ns > 0 && i < self->sum_count; i++)
    emit(user, self->sums[i].name, (double)self->sums[i].used_ns / (double)span_ns);
  keep(self);
  self->looked_ns = now_ns;
}
