/* See record_names.h. */
#include "record_names.h"

#include <stdlib.h>
#include <string.h>

struct record_name {
  record_name *older, *newer, *next; /* next: in its bucket */
  int64_t used_ns;
  uint32_t id;
  uint64_t bytes;
  char row[]; /* as it came */
};

enum { FEWEST_BUCKETS = 1024 };

/* Numbers follow one another. */
static record_name **bucket_of(const record_names *self, uint32_t id) {
  return &self->buckets[id & (self->bucket_count - 1)];
}

static record_name *find(const record_names *self, uint32_t id) {
  record_name *at = self->bucket_count ? *bucket_of(self, id) : NULL;
  while (at && at->id != id) at = at->next;
  return at;
}

static bool grow(record_names *self) {
  const uint32_t wanted = self->bucket_count ? self->bucket_count * 2 : FEWEST_BUCKETS;
  record_name **buckets = calloc(wanted, sizeof *buckets);
  if (!buckets) return self->bucket_count != 0;
  free(self->buckets);
  self->buckets = buckets;
  self->bucket_count = wanted;
  for (record_name *at = self->oldest; at; at = at->newer) {
    record_name **bucket = bucket_of(self, at->id);
    at->next = *bucket;
    *bucket = at;
  }
  return true;
}

static void unlink_used(record_names *self, const record_name *name) {
  *(name->older ? &name->older->newer : &self->oldest) = name->newer;
  *(name->newer ? &name->newer->older : &self->newest) = name->older;
}

static void link_newest(record_names *self, record_name *name, int64_t now_ns) {
  name->used_ns = now_ns;
  name->older = self->newest;
  name->newer = NULL;
  *(self->newest ? &self->newest->newer : &self->oldest) = name;
  self->newest = name;
}

static void drop_oldest(record_names *self) {
  record_name *gone = self->oldest, **at = bucket_of(self, gone->id);
  while (*at != gone) at = &(*at)->next;
  *at = gone->next;
  self->oldest = gone->newer;
  if (self->oldest)
    self->oldest->older = NULL;
  else
    self->newest = NULL;
  self->bytes -= sizeof *gone + gone->bytes;
  self->count--;
  self->dropped++;
  free(gone);
}

static bool add_one(record_names *self, uint32_t id, const void *row, uint64_t bytes, int64_t now_ns) {
  if (find(self, id)) return true; /* a number has one text */
  if (self->count >= self->bucket_count && !grow(self)) return false;
  record_name *name = malloc(sizeof *name + bytes);
  if (!name) return false;
  name->id = id;
  name->bytes = bytes;
  memcpy(name->row, row, bytes);
  name->next = *bucket_of(self, id);
  *bucket_of(self, id) = name;
  link_newest(self, name, now_ns);
  self->bytes += sizeof *name + bytes;
  self->count++;
  while (self->oldest && self->bytes > RECORD_NAMES_BYTES) drop_oldest(self);
  return true;
}

bool record_names_add(record_names *self, const void *rows, uint64_t bytes, int64_t now_ns) {
  for (uint64_t at = 0; bytes - at >= sizeof(capture_string);) {
    capture_string row;
    memcpy(&row, (const char *)rows + at, sizeof row);
    const uint64_t whole = sizeof row + ((uint64_t)row.bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
    if (whole > bytes - at) break;
    if (!add_one(self, row.id, (const char *)rows + at, whole, now_ns)) return false;
    at += whole;
  }
  return true;
}

void record_names_use(record_names *self, uint32_t id, int64_t now_ns) {
  record_name *name = id ? find(self, id) : NULL;
  if (!name) return;
  unlink_used(self, name);
  link_newest(self, name, now_ns);
}

bool record_names_has(const record_names *self, uint32_t id) { return find(self, id) != NULL; }

/* One record, where there is anything. */
static void put(capture_writer *writer, uint32_t count, const char *rows, uint64_t bytes) {
  const capture_head head = {.kind = CAPTURE_STRINGS, .window = CAPTURE_NO_WINDOW, .count = count, .row_bytes = 1};
  if (count) (void)capture_put(writer, head, rows, bytes);
}

void record_names_write(const record_names *self, capture_writer *writer, int64_t begin_ns) {
  char part[CAPTURE_PART_BYTES];
  uint64_t bytes = 0;
  uint32_t count = 0;
  for (const record_name *at = self->oldest; at; at = at->newer) {
    if (at->used_ns < begin_ns) continue;
    if (at->bytes > sizeof part) {
      put(writer, 1, at->row, at->bytes);
      continue;
    }
    if (at->bytes > sizeof part - bytes) {
      put(writer, count, part, bytes);
      bytes = count = 0;
    }
    memcpy(part + bytes, at->row, at->bytes);
    bytes += at->bytes;
    count++;
  }
  put(writer, count, part, bytes);
}

void record_names_free(record_names *self) {
  for (record_name *at = self->oldest, *next; at; at = next) {
    next = at->newer;
    free(at);
  }
  free(self->buckets);
  *self = (record_names){0};
}
