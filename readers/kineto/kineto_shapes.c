/* Shapes of inputs, as profile(record_shapes=True) has them. See kineto.h. */
#include "kineto.h"

#include <string.h>

/* One [64, 3, 224, 224]; `at` is after its [. Where it ends; NULL: it is no list of at most four numbers. */
static const char *take_shape(const char *at, const char *end, pd_shape *out) {
  memset(out, 0, sizeof *out);
  for (;;) {
    at = scan_blanks(at, end);
    if (at < end && *at == ',') at = scan_blanks(at + 1, end);
    if (at >= end) return NULL;
    if (*at == ']') return at + 1;
    const char *first = at;
    while (at < end && ((*at >= '0' && *at <= '9') || *at == '-')) at++;
    if (out->rank == 4 || !scan_integer((scan_text){first, (size_t)(at - first)}, &out->dims[out->rank])) return NULL;
    out->rank++;
  }
}

uint32_t kineto_shapes(scan_text dims, pd_shape *out, uint32_t room) {
  const char *at = dims.at, *end = dims.at + dims.length;
  uint32_t count = 0;
  if (!dims.length || *at != '[') return 0;
  for (at++;;) {
    at = scan_blanks(at, end);
    if (at < end && *at == ',') at = scan_blanks(at + 1, end);
    if (at >= end || (*at != '[' && *at != ']') || (*at == '[' && count == room)) return 0;
    if (*at == ']') return count;
    at = take_shape(at + 1, end, &out[count++]);
    if (!at) return 0;
  }
}
