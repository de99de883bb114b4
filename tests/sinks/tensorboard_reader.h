/* A decoder of TensorBoard's event files, bit by bit: what the sink writes is not read by what writes it. */
#ifndef TESTS_SINKS_TENSORBOARD_READER_H
#define TESTS_SINKS_TENSORBOARD_READER_H

#include "pd_test.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct event_file {
  char path[600];
  unsigned char *data;
  size_t bytes, at;
  bool broken; /* a checksum did not hold, or the last record is cut off */
} event_file;

typedef struct tb_event {
  double wall_time;
  int64_t step;
  char version[32], tag[128], plugin[64];
  float scalar;
  bool has_scalar;
  const unsigned char *summary;
  size_t summary_bytes;
  const unsigned char *content; /* of the plugin's data or the tensor */
  size_t content_bytes;
} tb_event;

static inline uint32_t masked_crc(const unsigned char *data, size_t bytes) {
  uint32_t crc = 0xffffffffu;
  for (size_t i = 0; i < bytes; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78u : crc >> 1;
  }
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

static inline uint64_t little_endian(const unsigned char *data, int bytes) {
  uint64_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | data[i];
  return value;
}

static inline void read_folder(event_file *file, const char *folder, const char *ending) {
  DIR *dir = opendir(folder);
  cr_assert_not_null(dir);
  memset(file, 0, sizeof *file);
  for (struct dirent *entry; (entry = readdir(dir));) {
    const size_t length = strlen(entry->d_name), tail = strlen(ending);
    if (length > tail && !strcmp(entry->d_name + length - tail, ending))
      snprintf(file->path, sizeof file->path, "%s/%s", folder, entry->d_name);
  }
  closedir(dir);
  cr_assert(file->path[0], "no file of %s", ending);
  FILE *in = fopen(file->path, "rb");
  cr_assert_not_null(in);
  file->data = malloc(1 << 20);
  cr_assert_not_null(file->data);
  file->bytes = fread(file->data, 1, 1 << 20, in);
  fclose(in);
}

/* The next record's data. */
static inline const unsigned char *next_record(event_file *file, size_t *bytes) {
  const unsigned char *at = file->data + file->at;
  const size_t left = file->bytes - file->at;
  if (!left) return NULL;
  file->broken = true;
  if (left < 16 || masked_crc(at, 8) != little_endian(at + 8, 4)) return NULL;
  *bytes = (size_t)little_endian(at, 8);
  if (left < 16 + *bytes || masked_crc(at + 12, *bytes) != little_endian(at + 12 + *bytes, 4)) return NULL;
  file->broken = false;
  file->at += 16 + *bytes;
  return at + 12;
}

static inline uint64_t varint(const unsigned char **at) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const unsigned char byte = *(*at)++;
    value |= (uint64_t)(byte & 127) << shift;
    if (!(byte & 128)) return value;
  }
}

/* Field `wanted` of a message: its bytes, or NULL. Fixed and varint fields come with what they are made of. */
static inline const unsigned char *field(const unsigned char *at, size_t bytes, uint32_t wanted, size_t *length) {
  const unsigned char *end = at + bytes;
  while (at < end) {
    const uint64_t key = varint(&at);
    const unsigned char *start = at;
    switch (key & 7) {
    case 0: varint(&at); break;
    case 1: at += 8; break;
    case 5: at += 4; break;
    default: {
      const uint64_t size = varint(&at);
      start = at;
      at += size;
    }
    }
    *length = (size_t)(at - start);
    if (key >> 3 == wanted) return start;
  }
  return NULL;
}

static inline void copy_text(char *to, size_t room, const unsigned char *from, size_t bytes) {
  to[0] = '\0';
  if (from) snprintf(to, room, "%.*s", (int)bytes, (const char *)from);
}

static inline bool next_event(event_file *file, tb_event *out) {
  size_t bytes, n;
  const unsigned char *record = next_record(file, &bytes);
  memset(out, 0, sizeof *out);
  if (!record) return false;
  const unsigned char *at = field(record, bytes, 1, &n);
  if (at) memcpy(&out->wall_time, at, 8);
  at = field(record, bytes, 2, &n);
  if (at) out->step = (int64_t)varint(&at);
  at = field(record, bytes, 3, &n);
  copy_text(out->version, sizeof out->version, at, n);
  out->summary = field(record, bytes, 5, &out->summary_bytes);
  if (!out->summary) return true;
  const unsigned char *value = field(out->summary, out->summary_bytes, 1, &bytes);
  at = field(value, bytes, 1, &n);
  copy_text(out->tag, sizeof out->tag, at, n);
  at = field(value, bytes, 2, &n);
  if (at) memcpy(&out->scalar, at, 4);
  out->has_scalar = at != NULL;
  size_t metadata_bytes, plugin_bytes, tensor_bytes;
  const unsigned char *metadata = field(value, bytes, 9, &metadata_bytes);
  const unsigned char *plugin = metadata ? field(metadata, metadata_bytes, 1, &plugin_bytes) : NULL;
  if (plugin) {
    at = field(plugin, plugin_bytes, 1, &n);
    copy_text(out->plugin, sizeof out->plugin, at, n);
    out->content = field(plugin, plugin_bytes, 2, &out->content_bytes);
  }
  const unsigned char *tensor = field(value, bytes, 8, &tensor_bytes);
  if (tensor) {
    out->content = field(tensor, tensor_bytes, 4, &out->content_bytes);
    if (!out->content) out->content = field(tensor, tensor_bytes, 8, &out->content_bytes);
  }
  return true;
}

static inline size_t count_tag(event_file *file, const char *tag) {
  size_t found = 0;
  tb_event event;
  file->at = 0;
  while (next_event(file, &event)) found += !strcmp(event.tag, tag);
  cr_assert(!file->broken);
  return found;
}

/* The first event of `tag` at `step`. */
static inline tb_event find_event(event_file *file, const char *tag, int64_t step) {
  tb_event event;
  file->at = 0;
  while (next_event(file, &event))
    if (!strcmp(event.tag, tag) && event.step == step) return event;
  cr_assert_fail("no %s at step %lld", tag, (long long)step);
  return event;
}

#endif
