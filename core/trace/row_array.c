/* See row_array.h. */
#include "row_array.h"

#include "base/hash.h"

#include <pdhost/array.h>
#include <pdhost/trace.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void *row_array_add(row_array *rows, size_t bytes) {
  if (rows->count == UINT32_MAX) return NULL;
  if (rows->count == rows->room &&
      !pd_array_grow((void *)&rows->data, bytes, &rows->room, sizeof rows->room, rows->count + 1, false))
    return NULL;
  return memset((char *)rows->data + rows->count++ * bytes, 0, bytes);
}

void row_array_free(row_array *rows) {
  free(rows->data);
  *rows = (row_array){0};
}

static bool grow(row_index *self, const row_array *rows, size_t bytes) {
  const uint64_t size = self->slots ? 2 * (self->mask + 1) : 256;
  uint32_t *slots = calloc(size, sizeof *slots);
  if (!slots) return false;
  for (uint64_t i = 0; i < rows->count; i++) {
    uint64_t at = hash_bytes((const char *)rows->data + i * bytes, bytes) & (size - 1);
    while (slots[at]) at = (at + 1) & (size - 1);
    slots[at] = (uint32_t)i + 1;
  }
  free(self->slots);
  self->slots = slots;
  self->mask = size - 1;
  return true;
}

uint32_t row_index_find(row_index *self, row_array *rows, const void *row, size_t bytes) {
  if ((!self->slots || rows->count * 2 > self->mask) && !grow(self, rows, bytes)) return PD_NONE;
  uint64_t at = hash_bytes(row, bytes) & self->mask;
  for (; self->slots[at]; at = (at + 1) & self->mask)
    if (memcmp((const char *)rows->data + (self->slots[at] - 1) * bytes, row, bytes) == 0) return self->slots[at] - 1;
  void *added = row_array_add(rows, bytes);
  if (!added) return PD_NONE;
  memcpy(added, row, bytes);
  self->slots[at] = (uint32_t)rows->count;
  return (uint32_t)rows->count - 1;
}
