/* See host_children.h. */
#include "host_children.h"

#include <pdhost/clocks.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often new children are looked for, and how many levels of children's children count. */
#define LIST_NS INT64_C(500000000)
enum { LEVELS = 3 };

static bool read_text(const char *path, char *out, size_t room) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  const ssize_t bytes = file >= 0 ? read(file, out, room - 1) : -1;
  if (file >= 0) (void)close(file);
  if (bytes < 0) return false;
  out[bytes] = '\0';
  return true;
}

static void add_child(host_children *self, pid_t pid) {
  char path[64];
  for (uint32_t i = 0; i < self->count; i++)
    if (self->all[i].pid == pid) return;
  if (self->count == HOST_CHILDREN) return;
  host_child *child = &self->all[self->count];
  *child = (host_child){.pid = pid};
  (void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);
  if (!process_time_open(&child->used, pid) || !read_text(path, child->name, sizeof child->name)) return;
  child->name[strcspn(child->name, "\n")] = '\0';
  self->count++;
}

/* A child is in the list of the thread that made it. */
static void list_thread(host_children *self, pid_t pid, const char *tid) {
  char path[96], text[4096], *end;
  (void)snprintf(path, sizeof path, "/proc/%d/task/%.16s/children", (int)pid, tid);
  if (!read_text(path, text, sizeof text)) return;
  for (const char *at = text; *at; at = end) {
    const long child = strtol(at, &end, 10);
    if (end == at || child <= 0) return;
    if (*end) add_child(self, (pid_t)child); /* the last one may be cut off */
  }
}

static void list_process(host_children *self, pid_t pid) {
  char path[64];
  (void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *threads = opendir(path);
  for (const struct dirent *entry; threads && (entry = readdir(threads));)
    if (entry->d_name[0] != '.') list_thread(self, pid, entry->d_name);
  if (threads) (void)closedir(threads);
}

static void list(host_children *self) {
  uint32_t from = 0;
  list_process(self, self->program);
  for (int level = 1; level < LEVELS && from < self->count; level++) {
    const uint32_t to = self->count;
    for (; from < to; from++) list_process(self, self->all[from].pid);
  }
}

/* -1: not there. */
static int64_t number_behind(const char *text, const char *word) {
  const char *at = strstr(text, word);
  return at ? strtoll(at + strlen(word), NULL, 10) : -1;
}

uint32_t host_children_look(host_children *self, capture_child *rows) {
  uint32_t kept = 0;
  const int64_t now_ns = pd_monotonic_ns();
  if (!self->listed_ns || now_ns - self->listed_ns >= LIST_NS) {
    list(self);
    self->listed_ns = now_ns;
  }
  for (uint32_t i = 0; i < self->count; i++) {
    char path[64], text[512];
    host_child child = self->all[i];
    const int64_t used = process_time_ns(&child.used);
    if (used < 0) continue; /* it has ended */
    capture_child *row = &rows[kept];
    *row = (capture_child){.ns = pd_clock_ns(CLOCK_REALTIME),
                           .cpu_ns = used,
                           .disk_bytes = -1,
                           .read_bytes = -1,
                           .pid = (uint32_t)child.pid};
    memcpy(row->name, child.name, sizeof row->name);
    (void)snprintf(path, sizeof path, "/proc/%d/io", (int)child.pid);
    if (read_text(path, text, sizeof text)) {
      row->disk_bytes = number_behind(text, "\nread_bytes: ");
      row->read_bytes = number_behind(text, "rchar: ");
    }
    self->all[kept++] = child;
  }
  self->count = kept;
  return kept;
}
