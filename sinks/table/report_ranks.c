/* See report_ranks.h. */
#include "report_ranks.h"

#include "report_notes.h"
#include "table_report.h"
#include "verdict_text.h"

#include <inttypes.h>

enum { SENTENCE_AT = 13 };

/* NULL: there are as many as are shown. */
static report_rank *rank_of(report_ranks *self, uint32_t rank) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->ranks[i].rank == rank) return &self->ranks[i];
  if (self->count == REPORT_RANKS) return NULL;
  self->ranks[self->count].rank = rank;
  return &self->ranks[self->count++];
}

void report_ranks_take(report_ranks *self, const pd_trace *trace, const pd_table *verdict, size_t columns) {
  const bool is_known = PD_HAS(pd_trace, trace, ranks) && trace->ranks;
  report_rank *row = rank_of(self, is_known ? trace->rank : trace->window);
  if (!row) {
    self->are_more = true;
    return;
  }
  row->line.length = 0;
  text_format(&row->line, "  %s %-6" PRIu32, is_known ? "rank" : "file", row->rank);
  verdict_sentence(&row->line, verdict, columns - SENTENCE_AT);
  text_add(&row->line, "\n");
}

static void add_section(text *out, const text *section) {
  out->failed = out->failed || section->failed;
  if (!section->length || section->failed) return;
  text_add(out, "\n");
  text_add_bytes(out, section->data, section->length);
}

void report_ranks_write(const report_ranks *self, text *out, const pd_summary *summary, const pd_files *files,
                        size_t columns) {
  text alone = {.colour = out->colour}, notes = {.colour = out->colour}, named = {.colour = out->colour};
  text_bold(&alone, "Verdict on each rank alone");
  text_add(&alone, "\n");
  for (uint32_t i = 0; i < self->count; i++) {
    const text *line = &self->ranks[i].line;
    alone.failed = alone.failed || line->failed;
    if (!line->failed) text_add_bytes(&alone, line->data, line->length);
  }
  if (self->are_more) text_add(&alone, "  and more\n");
  text_add(&alone, "  To read one in full: pdhost analyze FILE\n");
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
  for (uint32_t i = 0; i < self->count; i++) text_free(&self->ranks[i].line);
}
