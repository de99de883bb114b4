/* See record_steps.h. */
#include "record_steps.h"

#include <pdhost/array.h>
#include <pdhost/mark.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { IS_DOMAIN = 1, IS_STEP = 2, IS_NAMED = 4 };
/* With more, some are forgotten: each step may have a name of its own. Those stay that were among the last MOST_USED
 * uses, and the last MOST_AWAITED that no row has used yet: their rows may be on the way. */
enum { MOST_ROLES = 1 << 16, MOST_USED = MOST_ROLES / 2, MOST_AWAITED = MOST_ROLES / 4 };

static bool is_text(const char *text, uint32_t bytes, const char *wanted) {
  return strlen(wanted) == bytes && memcmp(text, wanted, bytes) == 0;
}

/* As step_finder_named takes it: the name itself, or with # and more after it; NAME* is all that begin so. */
static bool is_named(const char *text, uint32_t bytes, const char *name) {
  const size_t length = name ? strlen(name) : 0;
  const bool is_open = length && name[length - 1] == '*';
  const size_t same = is_open ? length - 1 : length;
  return name && bytes >= same && memcmp(text, name, same) == 0 && (is_open || bytes == same || text[same] == '#');
}

/* Where the number is, or would be. */
static uint32_t place_of(const record_steps *self, uint32_t id) {
  uint32_t from = 0, to = self->role_count;
  if (!to || self->roles[to - 1].id < id) return to; /* numbers rise */
  while (from < to) {
    const uint32_t middle = from + (to - from) / 2;
    if (self->roles[middle].id < id)
      from = middle + 1;
    else
      to = middle;
  }
  return from;
}

static void forget_unused(record_steps *self) {
  uint32_t from = self->role_count, awaited = 0;
  for (uint32_t i = self->role_count; i-- > 0;) {
    const record_step_role role = self->roles[i];
    const bool stays = role.used ? self->uses - role.used < MOST_USED : awaited++ < MOST_AWAITED;
    if (stays) self->roles[--from] = role;
  }
  self->role_count -= from;
  memmove(self->roles, self->roles + from, self->role_count * sizeof *self->roles);
}

static void note(record_steps *self, uint32_t id, uint8_t role) {
  if (self->role_count == MOST_ROLES) forget_unused(self);
  const uint32_t at = place_of(self, id);
  if (at == self->role_count || self->roles[at].id != id) {
    if (!PD_ARRAY_FIT(self->roles, self->role_room, self->role_count + 1)) return;
    memmove(self->roles + at + 1, self->roles + at, (self->role_count - at) * sizeof *self->roles);
    self->roles[at] = (record_step_role){.id = id};
    self->role_count++;
  }
  self->roles[at].roles |= role;
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

static bool has_role(record_steps *self, uint32_t id, uint8_t role) {
  const uint32_t at = place_of(self, id);
  if (at == self->role_count || self->roles[at].id != id) return false;
  self->roles[at].used = ++self->uses;
  return (self->roles[at].roles & role) != 0;
}

bool record_steps_is_bound(record_steps *self, const capture_annotation *row) {
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
