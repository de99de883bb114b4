/* See inject_names.h. */
#include "inject_names.h"

#include "capture/format.h"
#include "devices/cuda/cupti/demangle.h"

#include <stdlib.h>
#include <string.h>

enum { LONGEST_NAME = 16384 };

static _Atomic uint32_t last;

uint32_t inject_names_next(void) { return atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1; }

void inject_names_open(inject_names *self, ring_writer *ring) {
  *self = (inject_names){.lane = {.ring = ring, .kind = CAPTURE_STRINGS, .row_bytes = CAPTURE_ALIGN}};
}

uint32_t inject_names_add(inject_names *self, const char *text) {
  struct {
    capture_string head;
    char text[LONGEST_NAME];
  } row;
  size_t bytes = strlen(text);
  if (bytes > LONGEST_NAME) bytes = LONGEST_NAME;
  const size_t padded = (bytes + CAPTURE_ALIGN - 1) / CAPTURE_ALIGN * CAPTURE_ALIGN;
  row.head = (capture_string){.id = inject_names_next(), .bytes = (uint32_t)bytes};
  memset(row.text + bytes, 0, padded - bytes);
  memcpy(row.text, text, bytes);
  if (!ring_put(&self->lane, &row, (uint32_t)(sizeof row.head + padded), 1)) return 0;
  return row.head.id;
}

static uint32_t add_kernel(inject_names *self, const char *mangled) {
  char *plain = cuda_demangle(mangled);
  const uint32_t id = inject_names_add(self, plain ? plain : mangled);
  free(plain);
  return id;
}

static uint64_t place_of(const inject_name *rows, uint64_t size, const char *pointer) {
  uint64_t at = ((uintptr_t)pointer * 0x9e3779b97f4a7c15u >> 32) & (size - 1);
  while (rows[at].pointer && rows[at].pointer != pointer) at = (at + 1) & (size - 1);
  return at;
}

static bool grow(inject_names *self) {
  const uint64_t size = self->size ? self->size * 2 : 256;
  inject_name *rows = calloc(size, sizeof *rows);
  if (!rows) return false;
  for (uint64_t i = 0; i < self->size; i++)
    if (self->rows[i].pointer) rows[place_of(rows, size, self->rows[i].pointer)] = self->rows[i];
  free(self->rows);
  self->rows = rows;
  self->size = size;
  return true;
}

uint32_t inject_names_kernel(inject_names *self, const char *pointer) {
  if (!pointer) pointer = "(unnamed kernel)";
  if (self->count * 2 >= self->size && !grow(self)) return add_kernel(self, pointer);
  inject_name *name = &self->rows[place_of(self->rows, self->size, pointer)];
  /* Until CUPTI 13.4 a module loaded later may put another name at the same place. */
  if (name->pointer && strcmp(name->text, pointer) == 0) return name->id;
  const uint32_t id = add_kernel(self, pointer);
  char *text = id ? strdup(pointer) : NULL;
  if (!text) return id;
  if (!name->pointer) self->count++;
  free(name->text);
  *name = (inject_name){.pointer = pointer, .text = text, .id = id};
  return id;
}
