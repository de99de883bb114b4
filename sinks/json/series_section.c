/* What was looked at in equal spans; see sections.h. */
#include "sections.h"

#include "../lib/series_list.h"

#include <pdhost/series_counters.h>

/* One of the series, as its values and when they were looked at. */
static void one_series(json_writer *json, const pd_trace *trace, uint32_t name) {
  const pd_string *full = pd_trace_string(trace, name);
  const char *unit = pd_series_unit(full->text);
  json_begin_object(json);
  json_key(json, "name");
  json_string_of(json, full->text, (size_t)(unit - full->text) - 2);
  json_key(json, "unit");
  json_string(json, unit);
  json_key(json, "ts_ns");
  json_begin_array(json);
  for (uint64_t i = 0; i < trace->counters.count; i++) {
    const pd_counter_row *row = PD_AT(pd_counter_row, &trace->counters, i);
    if (row->name == name && pd_is_series(trace, row)) json_i64(json, trace->base_ns + row->ts_ns);
  }
  json_end_array(json);
  json_key(json, "values");
  json_begin_array(json);
  for (uint64_t i = 0; i < trace->counters.count; i++) {
    const pd_counter_row *row = PD_AT(pd_counter_row, &trace->counters, i);
    if (row->name == name && pd_is_series(trace, row)) json_double(json, row->value);
  }
  json_end_array(json);
  json_end_object(json);
}

void section_series(json_writer *json, const pd_trace *trace) {
  uint32_t names[SERIES_MOST];
  const uint32_t count = series_list(trace, names);
  json_key(json, "series");
  json_begin_array(json);
  for (uint32_t i = 0; i < count; i++) one_series(json, trace, names[i]);
  json_end_array(json);
}
