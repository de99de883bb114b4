/* The capture of a run, record by record: the host makes of them what the run itself made. First come the run and its
 * device, wherever they stand, so that the host knows from the start what the rest is of. */
#include "capture_files.h"

static pd_status give(const capture_file *self, const pd_intake *intake, const capture_record *at) {
  const pd_status status = capture_payload(&self->records, at, self->room);
  if (status != PD_OK) return status;
  const pd_captured record = {.kind = at->kind,
                              .window = at->window,
                              .thread = at->thread,
                              .count = at->count,
                              .row_bytes = at->row_bytes,
                              .bytes = at->bytes,
                              .first = at->first,
                              .at = at->at,
                              .payload = self->room};
  intake->record(intake, &record);
  return PD_OK;
}

static pd_status give_first(const capture_file *self, const pd_intake *intake, capture_kind kind) {
  for (uint64_t i = 0; i < self->records.count; i++)
    if (self->records.records[i].kind == kind) return give(self, intake, &self->records.records[i]);
  return PD_OK;
}

static pd_status say(capture_file *self, const pd_intake *intake) {
  self->said = true;
  if (self->records.torn)
    intake->odd(intake, PD_ODD_DAMAGE, "%llu bytes at %llu places cannot be read; what lies between is used",
                (unsigned long long)self->records.torn_bytes, (unsigned long long)self->records.torn);
  const pd_status status = give_first(self, intake, CAPTURE_RUN);
  return status == PD_OK ? give_first(self, intake, CAPTURE_DEVICE) : status;
}

pd_status capture_run_next(capture_file *self, const pd_intake *intake) {
  const capture_reader *records = &self->records;
  if (!PD_HAS(pd_intake, intake, record))
    return self->host->fail(self->host, PD_INVALID, "this host takes no capture of a run");
  if (!self->said) return say(self, intake);
  if (self->next == records->count) return PD_STOP;
  pd_status status = PD_OK;
  bool ended = false;
  while (self->next < records->count && status == PD_OK && !ended) {
    const capture_record *at = &records->records[self->next++];
    if (at->kind != CAPTURE_RUN) status = give(self, intake, at);
    ended = at->kind == CAPTURE_DELIVER;
    intake->progress(intake, at->at + at->bytes, records->bytes);
  }
  return status;
}
