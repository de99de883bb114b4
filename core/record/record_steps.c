/* See record_steps.h. */
#include "record_steps.h"

#include <pdhost/array.h>
#include <pdhost/mark.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { IS_DOMAIN = 1, IS_STEP = 2, IS_NAMED = 4 };
/* A program with more names than this marks its steps long before. */
enum { MOST_NAMES = 1 << 20 };

static bool is_text(const char *text, uint32_t bytes, const char *wanted) {
  return strlen(wanted) == bytes && memcmp(text, wanted, bytes) == 0;
}

/* As step_finder_named takes it: the name itself, or with # and more after it. */
static bool is_named(const char *text, uint32_t bytes, const char *name) {
  const size_t length = name ? strlen(name) : 0;
  return name && bytes >= length && memcmp(text, name, length) == 0 && (bytes == length || text[length] == '#');
}

static void note(record_steps *self, uint32_t id, uint8_t role) {
  const uint32_t before = self->role_room;
  if (id >= MOST_NAMES || !PD_ARRAY_FIT(self->roles, self->role_room, id + 1)) return;
  if (self->role_room > before) memset(self->roles + before, 0, self->role_room - before);
  self->roles[id] |= role;
}

void record_steps_strings(record_steps *self, const char *data, uint32_t bytes) {
  for (uint32_t at = 0; bytes - at >= sizeof(capture_string);) {
    capture_string row;
    memcpy(&row, data + at, sizeof row);
    at += (uint32_t)sizeof row;
    if (row.bytes > bytes - at) return;
    if (is_text(data + at, row.bytes, PD_MARK_DOMAIN)) note(self, row.id, IS_DOMAIN);
    if (is_text(data + at, row.bytes, PD_MARK_STEP)) note(self, row.id, IS_STEP);
    if (is_named(data + at, row.bytes, self->name)) note(self, row.id, IS_NAMED);
    const uint32_t padded = (row.bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
    if (padded > bytes - at) return;
    at += padded;
  }
}

static bool has_role(const record_steps *self, uint32_t id, uint8_t role) {
  return id < self->role_room && (self->roles[id] & role);
}

bool record_steps_is_bound(const record_steps *self, const capture_annotation *row) {
  const bool is_moment = row->start_ns == row->end_ns;
  if (self->name) return !is_moment && has_role(self, row->name, IS_NAMED);
  return is_moment && has_role(self, row->name, IS_STEP) && has_role(self, row->domain, IS_DOMAIN);
}

void record_steps_annotations(record_steps *self, const void *data, uint32_t bytes) {
  for (uint32_t at = 0; bytes - at >= sizeof(capture_annotation); at += (uint32_t)sizeof(capture_annotation)) {
    capture_annotation row;
    memcpy(&row, (const char *)data + at, sizeof row);
    const bool is_moment = row.start_ns == row.end_ns;
    self->marks += is_moment && has_role(self, row.name, IS_STEP) && has_role(self, row.domain, IS_DOMAIN);
    self->ranges += !is_moment && has_role(self, row.name, IS_NAMED);
  }
}

void record_steps_pause(record_steps *self) {
  if (self->marks > self->paused_at) self->cut++;
  self->paused_at = self->marks;
}

/* A step lies between two marks. */
uint64_t record_steps_count(const record_steps *self) {
  if (self->name) return self->ranges;
  const uint64_t open = self->marks > self->paused_at;
  return self->marks - self->cut - open;
}

void record_steps_free(record_steps *self) { free(self->roles); }
