/* Names, threads and tables of the window that is read. See nsys_reader.h. */
#include "nsys_reader.h"

#include "../lib/api_names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const nsys_name empty_name = {.used = true};

static bool grow_names(nsys_reader *self) {
  const uint64_t room = self->name_room ? 2 * self->name_room : 1024;
  nsys_name *names = calloc(room, sizeof *names);
  if (!names) return false;
  for (uint64_t i = 0; i < self->name_room; i++) {
    if (!self->names[i].used) continue;
    uint64_t at = (uint64_t)self->names[i].key * 0x9E3779B97F4A7C15U & (room - 1);
    while (names[at].used) at = (at + 1) & (room - 1);
    names[at] = self->names[i];
  }
  free(self->names);
  self->names = names;
  self->name_room = room;
  return true;
}

/* "cudaLaunchKernel_v7000" is cudaLaunchKernel: the version is that of the interface. */
static size_t name_length(const char *text, size_t length) {
  const char *version = length > 2 ? memrchr(text, '_', length) : NULL;
  const bool is_call = strncmp(text, "cu", 2) == 0;
  if (!version || !is_call || version[1] != 'v' || !version[2]) return length;
  return strspn(version + 2, "0123456789") == strlen(version + 2) ? (size_t)(version - text) : length;
}

static void fill_name(nsys_reader *self, nsys_name *name) {
  if (sqlite3_bind_int64(self->strings, 1, name->key) == SQLITE_OK && sqlite3_step(self->strings) == SQLITE_ROW) {
    const unsigned char *value = sqlite3_column_text(self->strings, 0);
    const char *text = value ? (const char *)value : "";
    const size_t length = name_length(text, strlen(text));
    name->id = self->intake->intern(self->intake, text, length);
    name->api = api_class_of_name(text, length);
  }
  (void)sqlite3_reset(self->strings);
}

const nsys_name *nsys_name_of(nsys_reader *self, const nsys_rows *rows, int at) {
  if (!self->strings || !nsys_has(rows, at)) return &empty_name;
  const int64_t key = nsys_integer(rows, at);
  if (2 * (self->name_count + 1) > self->name_room && !grow_names(self)) {
    self->no_memory = true;
    return NULL;
  }
  uint64_t slot = (uint64_t)key * 0x9E3779B97F4A7C15U & (self->name_room - 1);
  while (self->names[slot].used && self->names[slot].key != key) slot = (slot + 1) & (self->name_room - 1);
  nsys_name *name = &self->names[slot];
  if (!name->used) {
    *name = (nsys_name){.key = key, .used = true};
    self->name_count++;
    fill_name(self, name);
  }
  return name;
}

/* Both numbers have 24 bits in a globalTid. */
uint32_t nsys_thread_of(const nsys_reader *self, int64_t global_tid) {
  const uint32_t pid = (uint32_t)(global_tid >> 24) & 0xFFFFFF, tid = (uint32_t)global_tid & 0xFFFFFF;
  return self->intake->thread(self->intake, pid, tid);
}

bool nsys_open_rows(nsys_reader *self, nsys_rows *rows, const char *table, const char *columns, const char *filter) {
  char where[64];
  const bool all = self->process < 0;
  snprintf(where, sizeof where, "\"%s\" >> 24 = ?1", filter);
  const bool opened =
      nsys_rows_open(rows, self->file, table, columns, all ? NULL : filter, all ? NULL : where, self->process);
  if (!opened && rows->damaged)
    self->intake->odd(self->intake, PD_ODD_DAMAGE, 1, "the table %s cannot be read: %s", table,
                      sqlite3_errmsg(self->file));
  return opened;
}

void nsys_tell_lacking(nsys_reader *self, const char *table, const char *columns) {
  char name[64];
  for (const char *at = columns; *at; at += strspn(at, " ")) {
    const size_t bytes = strcspn(at, " ");
    snprintf(name, sizeof name, "%.*s", (int)bytes, at);
    at += bytes;
    if (nsys_has_column(self->file, table, name)) continue;
    self->is_partial = true;
    if (self->next == 1) /* the same in each window */
      self->intake->odd(self->intake, PD_ODD_DAMAGE, 1, "the table %s has no column %s: export the report again", table,
                        name);
  }
}

void nsys_close_rows(nsys_reader *self, nsys_rows *rows) {
  if (rows->damaged)
    self->intake->odd(self->intake, PD_ODD_DAMAGE, 1,
                      "the table %s is damaged after row %llu: %s; what was read up to there is used", rows->table,
                      (unsigned long long)rows->read, sqlite3_errmsg(self->file));
  self->kept += rows->read;
  nsys_rows_close(rows);
}
