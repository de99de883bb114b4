/*
 * A counter track of the ledger: per step, how long each cause owned the device's time, in microseconds. Causes that
 * own nothing in the window are left out. [loop thread]
 */
#include "event_writer.h"

#include <stdlib.h>

static const char prefix[] = "ledger_";

/* False on no memory. */
static bool find_ledger(const event_writer *writer, const pd_table **out) {
  const pd_table_request request = {.size = sizeof request};
  const pd_table_set *tables =
      writer->analysis ? writer->analysis->tables(writer->analysis, writer->trace, &request) : NULL;
  *out = NULL;
  for (uint32_t i = 0; tables && i < tables->count; i++)
    if (!strcmp(tables->tables[i]->id, "ledger_steps")) *out = tables->tables[i];
  return tables || !writer->analysis;
}

static const pd_cell *cell(const pd_table *ledger, uint64_t row, uint32_t column) {
  return &PD_AT(pd_table_row, &ledger->rows, row)->cells[column];
}

/* Which columns are causes that own something; returns how many. */
static uint32_t find_owners(const pd_table *ledger, uint32_t *columns) {
  uint32_t count = 0;
  for (uint32_t c = 0; c < ledger->column_count; c++) {
    bool owns = false;
    if (strncmp(ledger->columns[c]->key, prefix, sizeof prefix - 1) != 0) continue;
    for (uint64_t i = 0; i < ledger->rows.count && !owns; i++) owns = cell(ledger, i, c)->v.i != 0;
    if (owns) columns[count++] = c;
  }
  return count;
}

/* The sample of step `row`, or of nothing at all (PD_NONE). */
static void write_sample(event_writer *writer, const pd_table *ledger, const uint32_t *owners, uint32_t owner_count,
                         uint32_t row, int64_t ts_ns) {
  const pd_device_props *props = writer->trace->device;
  const uint32_t device = props ? props->index : 0;
  char *at = event_counter(writer, "ledger", device);
  at = event_ids(at, device, 0);
  at = event_ts(at, ts_ns);
  writer->out->at = EVENT_PUT(at, ",\"args\":{");
  for (uint32_t i = 0; i < owner_count; i++) {
    text_out_text(writer->out, i ? ",\"" : "\"");
    text_out_text(writer->out, ledger->columns[owners[i]]->key + sizeof prefix - 1);
    text_out_literal(writer->out, "\":");
    text_out_us(writer->out, row == PD_NONE ? 0 : cell(ledger, row, owners[i])->v.i);
  }
  text_out_literal(writer->out, "}");
  event_end(writer, text_out_room(writer->out, EVENT_ROOM));
}

pd_status ledger_events_write(event_writer *writer) {
  const pd_trace *trace = writer->trace;
  const pd_table *ledger;
  if (!find_ledger(writer, &ledger)) return PD_NO_MEMORY;
  if (!ledger || !ledger->rows.count || ledger->rows.count != trace->steps.count) return PD_OK;
  uint32_t *owners = malloc(ledger->column_count * sizeof *owners);
  if (!owners) return PD_NO_MEMORY;
  const uint32_t count = find_owners(ledger, owners);
  for (uint32_t i = 0; count && i < trace->steps.count; i++) {
    const pd_trace_step *step = PD_AT(pd_trace_step, &trace->steps, i);
    if (!event_in_part(writer, step->start_ns)) continue;
    write_sample(writer, ledger, owners, count, i, step->start_ns);
    if (i + 1 == trace->steps.count) write_sample(writer, ledger, owners, count, PD_NONE, step->end_ns);
  }
  free(owners);
  return PD_OK;
}
