/* Shapes of operations' inputs: few lists are different, so that a range keeps the number of its list. */
#include "intake_rows.h"

#include <stdlib.h>
#include <string.h>

/* FNV-1a of 64 bits (Fowler, Noll, Vo), over words. */
static uint64_t hash_of(const pd_shape *shapes, uint32_t count, uint64_t hash) {
  for (uint32_t i = 0; i < count; i++) {
    hash = (hash ^ ((uint64_t)shapes[i].dtype << 32 | shapes[i].rank)) * UINT64_C(0x100000001b3);
    for (uint32_t d = 0; d < shapes[i].rank && d < 4; d++)
      hash = ((hash ^ (uint64_t)shapes[i].dims[d]) * UINT64_C(0x100000001b3)) ^ hash >> 29;
  }
  return hash;
}

uint32_t intake_shape_set(intake *self, const pd_shape *shapes, uint32_t count) {
  const uint64_t key[] = {hash_of(shapes, count, UINT64_C(0xcbf29ce484222325)),
                          hash_of(shapes, count, UINT64_C(0x9ae16a3b2f90404f) + count)};
  const uint64_t known = self->shape_keys.count;
  const uint32_t at = row_index_find(&self->shape_index, &self->shape_keys, key, sizeof key);
  if (at == PD_NONE) {
    self->failed = true;
    return 0;
  }
  if (self->shape_keys.count == known) return at + 1;
  read_shapes *set = row_array_add(&self->shape_sets, sizeof *set);
  if (set) *set = (read_shapes){(uint32_t)self->shapes.count, count};
  for (uint32_t i = 0; i < count; i++) {
    pd_shape *row = row_array_add(&self->shapes, sizeof *row);
    if (!row) self->failed = true;
    if (row) *row = shapes[i];
  }
  self->failed |= !set;
  return set ? at + 1 : 0;
}

void intake_drop_shapes(intake *self) {
  free(self->shapes.data);
  free(self->shape_sets.data);
  free(self->shape_keys.data);
  free(self->shape_index.slots);
}

pd_status intake_build_shapes(intake_build *self) {
  const row_array *from = &self->from->shapes;
  const pd_status status = trace_array(self->owned, &self->trace->shapes, from->count, sizeof(pd_shape));
  if (status == PD_OK && from->count)
    memcpy((void *)self->trace->shapes.data, from->data, (size_t)from->count * sizeof(pd_shape));
  return status;
}
