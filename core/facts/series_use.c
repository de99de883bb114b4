/* See series_use.h. */
#include "series_use.h"

#include "series_names.h"

#include <pdhost/array.h>
#include <pdhost/series_counters.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *series_resolution(const char *name) {
  static const struct {
    const char *name, *resolution;
  } all[] = {
#define ROW(id, name, resolution) {name, resolution},
      SERIES_MAP(ROW)
#undef ROW
  };
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
    if (!strcmp(all[i].name, name)) return all[i].resolution;
  return strncmp(name, "thread ", strlen("thread ")) == 0 ? SERIES_SINCE : NULL;
}

bool series_are_in(const pd_trace *trace) {
  for (uint64_t i = 0; i < trace->counters.count; i++)
    if (pd_is_series(trace, PD_AT(pd_counter_row, &trace->counters, i))) return true;
  return false;
}

static series_row *row_of(series_use *self, uint32_t name) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->rows[i].name == name) return &self->rows[i];
  if (!PD_ARRAY_FIT(self->rows, self->room, self->count + 1)) return NULL;
  self->rows[self->count] = (series_row){.name = name, .least = INFINITY, .most = -INFINITY};
  return &self->rows[self->count++];
}

bool series_use_open(const pd_trace *trace, series_use *out) {
  *out = (series_use){0};
  for (uint64_t i = 0; i < trace->counters.count; i++) {
    const pd_counter_row *counter = PD_AT(pd_counter_row, &trace->counters, i);
    if (!pd_is_series(trace, counter)) continue;
    series_row *row = row_of(out, counter->name);
    if (!row) return false;
    row->looks++;
    row->sum += counter->value;
    row->least = fmin(row->least, counter->value);
    row->most = fmax(row->most, counter->value);
  }
  return true;
}

void series_use_free(series_use *self) {
  free(self->rows);
  *self = (series_use){0};
}
