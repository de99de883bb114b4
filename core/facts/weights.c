/* See weights.h. */
#include "weights.h"

#include <string.h>

static bool has_weights(const char *kernel) { return strstr(kernel, "gemm") || strstr(kernel, "conv2d"); }

/* The rows of the operation's first matrix, or the pixels of all its first images; 0: it has neither. */
static double rows_of(const trace_facts *facts, const pd_range *op) {
  for (uint32_t i = 0; i < op->shape_count; i++) {
    const pd_shape *shape = PD_AT(pd_shape, &facts->trace->shapes, op->shape_first + i);
    if (shape->rank == 2) return (double)shape->dims[0];
    if (shape->rank == 4) return (double)shape->dims[0] * (double)shape->dims[2] * (double)shape->dims[3];
    if (shape->rank == 3) return 0; /* a matrix for each sample: none is of weights */
  }
  return 0;
}

double weights_share(const trace_facts *facts, const pd_device_row *row, double as_rows) {
  if (row->range >= facts->range_count || !has_weights(facts_text(facts, row->name))) return 0;
  const double rows = rows_of(facts, facts_range(facts, row->range));
  return rows > 0 ? as_rows / (as_rows + rows) : 0;
}
