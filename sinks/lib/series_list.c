/* See series_list.h. */
#include "series_list.h"

#include <pdhost/series_counters.h>

uint32_t series_list(const pd_trace *trace, uint32_t names[SERIES_MOST]) {
  uint32_t count = 0;
  for (uint64_t i = 0; i < trace->counters.count && count < SERIES_MOST; i++) {
    const pd_counter_row *row = PD_AT(pd_counter_row, &trace->counters, i);
    uint32_t at = 0;
    if (!pd_is_series(trace, row)) continue;
    while (at < count && names[at] != row->name) at++;
    if (at == count) names[count++] = row->name;
  }
  return count;
}
