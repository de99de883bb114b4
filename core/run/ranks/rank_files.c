/* See rank_files.h. */
#include "rank_files.h"

#include "rank_report.h"

#include <pdhost/array.h>

#include <stdio.h>
#include <stdlib.h>

static bool is_same(const rank_side *side, const char *path, const pd_trace *trace) {
  return side->path == path || (trace->ranks && side->ranks && side->rank == trace->rank);
}

bool rank_files_add(rank_files *self, const char *path, const pd_trace *trace) {
  rank_side *side = NULL;
  for (uint32_t i = 0; i < self->count; i++)
    if (is_same(&self->sides[i], path, trace)) side = &self->sides[i];
  if (!side) {
    if (!PD_ARRAY_FIT(self->sides, self->room, self->count + 1)) return false;
    side = &self->sides[self->count];
    *side = (rank_side){.path = path, .rank = trace->ranks ? trace->rank : self->count, .ranks = trace->ranks};
    self->count++;
  }
  return rank_side_add(side, trace);
}

bool rank_files_report(rank_files *self, bool as_json, bool quiet) {
  uint32_t with = 0;
  for (uint32_t i = 0; i < self->count; i++) with += self->sides[i].collective_count > 0;
  if (with < 2) return true;
  rank_side *sides = calloc(with, sizeof *sides);
  rank_summary summary = {.count = 0};
  bool ok = sides != NULL;
  with = 0;
  for (uint32_t i = 0; ok && i < self->count; i++) {
    rank_side_finish(&self->sides[i]);
    if (self->sides[i].collective_count) sides[with++] = self->sides[i];
  }
  ok = ok && rank_summary_make(sides, with, NULL, &summary);
  if (ok && as_json)
    ok = rank_report_json(&summary, stdout);
  else if (ok)
    rank_report_text(&summary, quiet);
  rank_summary_free(&summary);
  free(sides); /* what they point to stays */
  return ok;
}

void rank_files_free(rank_files *self) {
  for (uint32_t i = 0; i < self->count; i++) rank_side_free(&self->sides[i]);
  free(self->sides);
}
