/* Streams and copy names. See streams.h. */
#include "streams.h"

#include <pdhost/array.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_KINDS = 6 };

typedef struct stream_key {
  uint32_t device, context, stream;
} stream_key;

struct stream_table {
  string_table *strings;
  stream_key *keys; /* sorted */
  uint64_t count, capacity;
  uint32_t copy_names[MEMORY_KINDS][MEMORY_KINDS];
  uint32_t set_names[MEMORY_KINDS];
};

/* Kernels, copies and sets always have one, though its number may be unknown. */
static bool has_stream(const pd_activity *activity) {
  if (activity->kind == PD_ACTIVITY_SYNC) return activity->stream != PD_STREAM_UNKNOWN;
  return activity->kind != PD_ACTIVITY_OVERHEAD;
}

static bool key_before(const stream_key *a, const stream_key *b) {
  if (a->device != b->device) return a->device < b->device;
  if (a->context != b->context) return a->context < b->context;
  return a->stream < b->stream;
}

static uint64_t lower_bound(const stream_table *self, const stream_key *key) {
  uint64_t low = 0, high = self->count;
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (key_before(&self->keys[middle], key))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static pd_status add_key(stream_table *self, const stream_key *key) {
  uint64_t at = lower_bound(self, key);
  if (at < self->count && !key_before(key, &self->keys[at])) return PD_OK;
  if (!PD_ARRAY_FIT(self->keys, self->capacity, self->count + 1)) return PD_NO_MEMORY;
  memmove(&self->keys[at + 1], &self->keys[at], (self->count - at) * sizeof *self->keys);
  self->keys[at] = *key;
  self->count++;
  return PD_OK;
}

static stream_key key_of(const pd_activity *activity) {
  return (stream_key){activity->device, activity->context, activity->stream};
}

pd_status streams_open(merging *merge, const uint32_t *kept, uint64_t count, stream_table **out) {
  stream_table *self = calloc(1, sizeof *self);
  pd_status status = PD_OK;
  stream_key last = {0};
  *out = NULL;
  if (!self) return PD_NO_MEMORY;
  self->strings = merge->input->strings;
  for (uint64_t i = 0; status == PD_OK && i < count; i++) {
    const pd_activity *activity = &merge->input->devices[kept[i]].activity;
    if (!has_stream(activity)) continue;
    stream_key key = key_of(activity);
    if (self->count && !key_before(&key, &last) && !key_before(&last, &key)) continue;
    status = add_key(self, &key);
    last = key;
  }
  pd_array *array = &merge->trace->trace.streams;
  if (status == PD_OK) status = trace_array(merge->trace, array, self->count, sizeof(pd_stream_row));
  pd_stream_row *rows = (pd_stream_row *)array->data;
  for (uint64_t i = 0; status == PD_OK && i < self->count; i++) {
    char text[32] = "unknown stream";
    if (self->keys[i].stream != PD_STREAM_UNKNOWN) (void)snprintf(text, sizeof text, "stream %u", self->keys[i].stream);
    rows[i] = (pd_stream_row){self->keys[i].device, self->keys[i].context, self->keys[i].stream,
                              strings_intern(self->strings, text)};
  }
  if (status != PD_OK)
    streams_close(self);
  else
    *out = self;
  return status;
}

void streams_close(stream_table *self) {
  if (!self) return;
  free(self->keys);
  free(self);
}

uint32_t streams_find(const stream_table *self, const pd_activity *activity) {
  if (!has_stream(activity)) return PD_NONE;
  stream_key key = key_of(activity);
  return (uint32_t)lower_bound(self, &key);
}

static const char *kind_name(pd_memory_kind kind) {
  switch (kind) {
  case PD_MEMORY_PAGEABLE: return "Pageable";
  case PD_MEMORY_PINNED: return "Pinned";
  case PD_MEMORY_DEVICE: return "Device";
  case PD_MEMORY_MANAGED: return "Managed";
  default: return "Unknown";
  }
}

static bool on_host(pd_memory_kind kind) { return kind == PD_MEMORY_PAGEABLE || kind == PD_MEMORY_PINNED; }
static bool on_device(pd_memory_kind kind) { return kind == PD_MEMORY_DEVICE || kind == PD_MEMORY_MANAGED; }

/* An unknown end is taken for the opposite of the known one. */
static void format_copy(char *text, size_t size, pd_memory_kind from, pd_memory_kind to) {
  bool known = on_host(from) || on_device(from) || on_host(to) || on_device(to);
  char source = on_host(from) || (!on_device(from) && on_device(to)) ? 'H' : 'D';
  char target = on_host(to) || (!on_device(to) && on_device(from)) ? 'H' : 'D';
  if (known)
    (void)snprintf(text, size, "Memcpy %cto%c (%s -> %s)", source, target, kind_name(from), kind_name(to));
  else
    (void)snprintf(text, size, "Memcpy (%s -> %s)", kind_name(from), kind_name(to));
}

uint32_t streams_copy_name(stream_table *self, const pd_activity *activity) {
  pd_memory_kind from = activity->u.copy.from < MEMORY_KINDS ? activity->u.copy.from : PD_MEMORY_UNKNOWN;
  pd_memory_kind to = activity->u.copy.to < MEMORY_KINDS ? activity->u.copy.to : PD_MEMORY_UNKNOWN;
  bool is_set = activity->kind == PD_ACTIVITY_MEMSET;
  uint32_t *name = is_set ? &self->set_names[to] : &self->copy_names[from][to];
  if (!*name) {
    char text[64];
    if (is_set)
      (void)snprintf(text, sizeof text, "Memset (%s)", kind_name(to));
    else
      format_copy(text, sizeof text, from, to);
    *name = strings_intern(self->strings, text);
  }
  return *name;
}
