/* See report_ranks.h. */
#include "report_ranks.h"

#include "report_notes.h"
#include "table_report.h"
#include "verdict_text.h"

#include <pdhost/array.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SENTENCE_AT = 13, SHOWN = 16 };

bool report_ranks_are(const pd_run *run, const pd_table_set *set, uint32_t *late) {
  *late = UINT32_MAX;
  if (!set || (PD_HAS(pd_run, run, ranks) && run->ranks)) return false;
  for (uint32_t i = 0; i < set->count; i++) {
    if (strcmp(set->tables[i]->id, "ranks_verdict") != 0) continue;
    const pd_cell *straggler = verdict_cell(set->tables[i], "ranks_straggler");
    if (straggler) *late = (uint32_t)straggler->v.i;
    return true;
  }
  return false;
}

/* Ranks of as many others are of one job. */
static report_rank *rank_of(report_ranks *self, uint32_t rank, uint32_t ranks) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->ranks[i].rank == rank && self->ranks[i].ranks == ranks) return &self->ranks[i];
  if (!PD_ARRAY_FIT(self->ranks, self->room, self->count + 1)) return NULL;
  self->ranks[self->count] = (report_rank){.rank = rank, .ranks = ranks};
  return &self->ranks[self->count++];
}

void report_ranks_take(report_ranks *self, const pd_trace *trace, const pd_table *verdict, size_t columns) {
  char label[SENTENCE_AT];
  const bool is_known = PD_HAS(pd_trace, trace, ranks) && trace->ranks;
  const pd_cell *title = verdict_cell(verdict, "verdict");
  report_rank *row = rank_of(self, trace->rank, is_known ? trace->ranks : 0);
  if (!row) self->failed = true;
  if (!row || !title) return;
  row->verdict.length = 0;
  text_wrap(&row->verdict, title->v.text, columns, SENTENCE_AT);
  const int length = snprintf(label, sizeof label, "  %s %" PRIu32, is_known ? "rank" : "file", row->rank);
  if (!row->verdict.failed && length > 0 && (size_t)length < sizeof label && row->verdict.length > SENTENCE_AT)
    memcpy(row->verdict.data, label, (size_t)length);
}

static void add_section(text *out, const text *section) {
  out->failed = out->failed || section->failed;
  if (!section->length || section->failed) return;
  text_add(out, "\n");
  text_add_bytes(out, section->data, section->length);
}

static int by_rank(const void *a, const void *b) {
  const uint32_t first = ((const report_rank *)a)->rank, second = ((const report_rank *)b)->rank;
  return (first > second) - (first < second);
}

void report_ranks_write(report_ranks *self, text *out, uint32_t late, const pd_summary *summary, const pd_files *files,
                        size_t columns) {
  text alone = {.colour = out->colour}, notes = {.colour = out->colour}, named = {.colour = out->colour};
  uint32_t left_out = 0;
  if (self->count) qsort(self->ranks, self->count, sizeof *self->ranks, by_rank);
  text_bold(&alone, "Verdict on each rank alone");
  text_add(&alone, "\n");
  for (uint32_t i = 0; i < self->count; i++) {
    const text *verdict = &self->ranks[i].verdict;
    const bool is_shown = i < SHOWN || self->ranks[i].rank == late;
    left_out += !is_shown;
    alone.failed = alone.failed || verdict->failed;
    if (is_shown && !verdict->failed) text_add_bytes(&alone, verdict->data, verdict->length);
  }
  if (left_out) text_format(&alone, "  and %" PRIu32 " more\n", left_out);
  alone.failed = alone.failed || self->failed;
  report_notes(&notes, summary, columns);
  report_files(&named, files, columns);
  add_section(out, &alone);
  add_section(out, &notes);
  add_section(out, &named);
  text_free(&alone);
  text_free(&notes);
  text_free(&named);
}

void report_ranks_free(report_ranks *self) {
  for (uint32_t i = 0; i < self->count; i++) text_free(&self->ranks[i].verdict);
  free(self->ranks);
}
