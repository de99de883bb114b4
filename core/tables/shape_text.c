/* See shape_text.h. */
#include "shape_text.h"

#include <inttypes.h>
#include <stdio.h>

const char *shapes_text(const pd_trace *trace, const pd_range *range, arena *memory) {
  const char *text = "[";
  for (uint32_t s = 0; text && s < range->shape_count; s++) {
    const pd_shape *shape = PD_AT(pd_shape, &trace->shapes, range->shape_first + s);
    char dims[4 * 24] = "";
    size_t used = 0;
    for (uint32_t d = 0; d < shape->rank && d < 4; d++)
      used += (size_t)snprintf(dims + used, sizeof dims - used, "%s%" PRId64, d ? ", " : "", shape->dims[d]);
    text = arena_format(memory, "%s%s[%s]", text, s ? ", " : "", dims);
  }
  return text ? arena_format(memory, "%s]", text) : NULL;
}
