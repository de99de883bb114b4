/* See kineto.h. */
#include "kineto.h"

#include "../lib/api_names.h"
#include "../lib/range_roles.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

static uint64_t hash_of(scan_text text) {
  const char *at = text.at;
  size_t left = text.length;
  uint64_t hash = 0x9E3779B97F4A7C15U ^ left;
  for (; left >= 8; at += 8, left -= 8) {
    uint64_t word;
    memcpy(&word, at, 8);
    hash = (hash ^ word) * 0xFF51AFD7ED558CCDU;
    hash ^= hash >> 32;
  }
  uint64_t rest = 0;
  if (text.length >= 8)
    memcpy(&rest, at + left - 8, 8); /* with bytes that were taken before: at once, not one by one */
  else
    memcpy(&rest, at, left);
  hash = (hash ^ rest) * 0xC4CEB9FE1A85EC53U;
  return hash ^ hash >> 29;
}

static bool grow(kineto_names *self) {
  const uint64_t size = self->slots ? 2 * (self->mask + 1) : 4096;
  uint32_t *slots = calloc(size, sizeof *slots);
  if (!slots || !PD_ARRAY_FIT(self->rows, self->room, size / 2)) {
    free(slots);
    return false;
  }
  for (uint64_t i = 0; i < self->count; i++) {
    uint64_t at = self->rows[i].hash & (size - 1);
    while (slots[at]) at = (at + 1) & (size - 1);
    slots[at] = (uint32_t)i + 1;
  }
  free(self->slots);
  self->slots = slots;
  self->mask = size - 1;
  return true;
}

static bool fill(kineto_reader *self, kineto_name *row, scan_text text, uint64_t hash) {
  char *plain = malloc(text.length + 1);
  *row = (kineto_name){.hash = hash, .text = malloc(text.length + 1), .length = text.length};
  if (plain && row->text) {
    memcpy(row->text, text.at, text.length);
    const size_t length = scan_unescape(text, plain);
    row->id = self->intake->intern(self->intake, plain, length);
    row->api = api_class_of_name(plain, length);
    row->role = (uint8_t)range_role_of_name(plain, length);
    api_copy_ends(plain, length, &row->from, &row->to);
  } else {
    free(row->text);
    row->text = NULL;
  }
  free(plain);
  return row->text != NULL;
}

const kineto_name *kineto_name_of(kineto_reader *self, scan_text text) {
  kineto_names *names = &self->names;
  const uint64_t hash = hash_of(text);
  if (!names->slots && !grow(names)) return NULL;
  uint64_t at = hash & names->mask;
  for (; names->slots[at]; at = (at + 1) & names->mask) {
    const kineto_name *row = &names->rows[names->slots[at] - 1];
    if (row->hash == hash && row->length == text.length && memcmp(row->text, text.at, text.length) == 0) return row;
  }
  if (names->count == names->room) {
    if (!grow(names)) return NULL;
    at = hash & names->mask;
    while (names->slots[at]) at = (at + 1) & names->mask;
  }
  kineto_name *row = &names->rows[names->count];
  if (!fill(self, row, text, hash)) return NULL;
  names->slots[at] = (uint32_t)++names->count;
  return row;
}

void kineto_names_free(kineto_names *self) {
  for (uint64_t i = 0; i < self->count; i++) free(self->rows[i].text);
  free(self->rows);
  free(self->slots);
  *self = (kineto_names){0};
}
