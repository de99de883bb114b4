/* The capture of a run, record by record: the host makes of them what the run itself made. First come the run and its
 * device, wherever they stand, so that the host knows from the start what the rest is of. */
#include "capture_files.h"

#include <pdhost/array.h>

static pd_status give(capture_file *self, const pd_intake *intake, const capture_record *at) {
  unsigned char *room = self->room;
  if (!PD_ARRAY_FIT(room, self->room_bytes, at->bytes)) return PD_NO_MEMORY; /* it grew since it was opened */
  self->room = room;
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

/* Both are the first records of a file that is whole. */
static pd_status say(capture_file *self, const pd_intake *intake) {
  bool run = false, device = false;
  capture_record at;
  pd_status status = PD_OK;
  self->said = true;
  while (!(run && device) && (status = capture_next(&self->records, &at)) == PD_OK) {
    if (!(at.kind == CAPTURE_RUN && !run) && !(at.kind == CAPTURE_DEVICE && !device)) continue;
    run |= at.kind == CAPTURE_RUN;
    device |= at.kind == CAPTURE_DEVICE;
    if ((status = give(self, intake, &at)) != PD_OK) break;
  }
  capture_rewind(&self->records);
  return status == PD_STOP ? PD_OK : status;
}

void capture_tell_torn(capture_file *self, const pd_intake *intake) {
  const capture_reader *records = &self->records;
  const uint64_t more = records->torn - self->torn_told;
  self->torn_told = records->torn;
  if (!more) return;
  intake->place(intake, records->torn_at);
  intake->odd(intake, PD_ODD_DAMAGE, more, "%llu bytes at %llu places cannot be read; what lies between is used",
              (unsigned long long)records->torn_bytes, (unsigned long long)records->torn);
}

pd_status capture_run_next(capture_file *self, const pd_intake *intake) {
  capture_reader *records = &self->records;
  if (!PD_HAS(pd_intake, intake, record))
    return self->host->fail(self->host, PD_INVALID, "this host takes no capture of a run");
  if (!self->said) return say(self, intake);
  if (self->ended && !capture_grew(records)) return PD_STOP;
  capture_record at = {.kind = CAPTURE_RUN};
  pd_status status = PD_OK;
  while (status == PD_OK && at.kind != CAPTURE_DELIVER) {
    status = capture_next(records, &at);
    if (status == PD_OK && at.kind != CAPTURE_RUN) status = give(self, intake, &at);
    intake->progress(intake, records->next, records->bytes);
  }
  self->ended = status == PD_STOP;
  if (self->ended) capture_tell_torn(self, intake);
  return self->ended ? PD_OK : status;
}
