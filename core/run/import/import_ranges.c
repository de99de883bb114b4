/* See import_ranges.h. */
#include "import_ranges.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct name {
  const char *text;
  size_t length; /* up to its # */
  uint64_t count;
} name;

static int by_text(const void *a, const void *b) {
  const name *x = a, *y = b;
  const size_t least = x->length < y->length ? x->length : y->length;
  const int order = memcmp(x->text, y->text, least);
  return order ? order : (x->length > y->length) - (x->length < y->length);
}

static int by_count(const void *a, const void *b) {
  const name *x = a, *y = b;
  return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : by_text(a, b);
}

static bool is_own(const pd_range *range) {
  return range->kind == PD_RANGE_USER || range->kind == PD_RANGE_STEP || range->kind == PD_RANGE_DATALOADER;
}

/* Those that a range has, by their string ids, are put together. Their number. */
static uint64_t gather(const pd_trace *trace, name *names) {
  uint64_t used = 0, kept = 0;
  for (uint64_t i = 0; i < trace->ranges.count; i++) {
    const pd_range *range = PD_AT(pd_range, &trace->ranges, i);
    names[range->name].count += is_own(range);
  }
  for (uint64_t i = 0; i < trace->strings.count; i++) {
    const char *text = PD_AT(pd_string, &trace->strings, i)->text;
    const name one = {text, strcspn(text, "#"), names[i].count};
    if (one.count && one.length) names[used++] = one;
  }
  if (used) qsort(names, used, sizeof *names, by_text);
  for (uint64_t i = 0; i < used; i++) {
    if (kept && by_text(&names[kept - 1], &names[i]) == 0)
      names[kept - 1].count += names[i].count;
    else
      names[kept++] = names[i];
  }
  return kept;
}

void import_ranges_name(const pd_trace *trace, char *out, size_t room) {
  enum { MOST = 5, LONGEST = 60 };
  name *names = calloc(trace->strings.count + 1, sizeof *names);
  size_t used = 0;
  out[0] = '\0';
  if (!names) return;
  const uint64_t count = gather(trace, names);
  if (count) qsort(names, count, sizeof *names, by_count);
  for (uint64_t i = 0, put = 0; i < count && put < MOST; i++) {
    if (names[i].length > LONGEST || used + names[i].length + sizeof ", \"\"" > room) continue;
    used +=
        (size_t)snprintf(out + used, room - used, "%s\"%.*s\"", put++ ? ", " : "", (int)names[i].length, names[i].text);
  }
  free(names);
}
