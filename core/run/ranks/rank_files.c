/* See rank_files.h. */
#include "rank_files.h"

#include "rank_report.h"
#include "rank_tables.h"

#include <pdhost/array.h>

#include <stdio.h>
#include <stdlib.h>

/* Any of the side's steps has a number between the least and the largest of the trace's. */
static bool shares_steps(const rank_side *side, const pd_trace *trace) {
  uint64_t least = UINT64_MAX, most = 0;
  for (uint64_t i = 0; i < trace->steps.count; i++) {
    const uint64_t number = PD_AT(pd_trace_step, &trace->steps, i)->number;
    if (number < least) least = number;
    if (number > most) most = number;
  }
  for (uint32_t i = 0; i < side->step_count; i++)
    if (side->steps[i].key.number >= least && side->steps[i].key.number <= most) return true;
  return false;
}

/* Ranks record the same steps, windows of one rank others. */
static bool is_same(const rank_side *side, const char *path, const pd_trace *trace) {
  if (side->path == path) return true;
  if (trace->ranks || side->ranks) return trace->ranks == side->ranks && trace->rank == side->rank;
  return side->step_count && trace->steps.count && !shares_steps(side, trace);
}

/* Its windows come one after the other. */
static bool add_span(rank_files *self, const char *path, const pd_trace *trace) {
  rank_span *span = self->span_count ? &self->spans[self->span_count - 1] : NULL;
  if (!span || span->path != path) {
    if (!PD_ARRAY_FIT(self->spans, self->span_room, self->span_count + 1)) return false;
    span = &self->spans[self->span_count++];
    *span = (rank_span){.path = path, .rank = trace->rank, .ranks = trace->ranks};
  }
  for (uint64_t i = 0; i < trace->steps.count; i++) {
    const pd_trace_step *step = PD_AT(pd_trace_step, &trace->steps, i);
    const int64_t start = trace->base_ns + step->start_ns, end = trace->base_ns + step->end_ns;
    if (!span->end_ns || start < span->start_ns) span->start_ns = start;
    if (!span->end_ns || end > span->end_ns) span->end_ns = end;
  }
  return true;
}

bool rank_files_add(rank_files *self, const char *path, pd_trace *trace) {
  rank_side *side = NULL;
  for (uint32_t i = 0; i < self->count; i++)
    if (is_same(&self->sides[i], path, trace)) side = &self->sides[i];
  if (!side) {
    if (!PD_ARRAY_FIT(self->sides, self->room, self->count + 1)) return false;
    side = &self->sides[self->count];
    *side = (rank_side){.path = path, .rank = trace->ranks ? trace->rank : self->count, .ranks = trace->ranks};
    self->count++;
  }
  if (!trace->ranks) trace->rank = side->rank;
  return add_span(self, path, trace) && rank_side_add(side, trace);
}

static bool has_collectives(const rank_side *side) { return side->collective_count > 0; }
static bool is_named(const rank_side *side) { return side->ranks && side->step_count; }

static uint32_t count_sides(const rank_files *self, bool (*is_wanted)(const rank_side *side)) {
  uint32_t count = 0;
  for (uint32_t i = 0; i < self->count; i++) count += is_wanted(&self->sides[i]);
  return count;
}

bool rank_files_judge(rank_files *self) {
  bool (*is_judged)(const rank_side *side) = count_sides(self, has_collectives) < 2 ? is_named : has_collectives;
  uint32_t with = count_sides(self, is_judged);
  if (with < 2 || rank_spans_differ(self->spans, self->span_count, self->summary.withheld)) return true;
  self->judged = calloc(with, sizeof *self->judged);
  if (!self->judged) return false;
  with = 0;
  for (uint32_t i = 0; i < self->count; i++) {
    rank_side_finish(&self->sides[i]);
    if (is_judged(&self->sides[i])) self->judged[with++] = self->sides[i];
  }
  if (rank_summary_make(self->judged, with, NULL, &self->summary)) return true;
  rank_summary_free(&self->summary);
  return false;
}

static bool has_summary(const rank_files *self) { return self->summary.count || self->summary.withheld[0]; }

const pd_table_set *rank_files_tables(rank_files *self) {
  return has_summary(self) ? rank_tables_make(&self->tables, &self->summary) : NULL;
}

const char *rank_files_late(const rank_files *self) {
  const rank_figures *late = rank_report_late(&self->summary);
  return late ? late->side->path : NULL;
}

void rank_files_print(const rank_files *self, const char *next, const char *in_full, bool quiet) {
  if (!has_summary(self)) return;
  rank_report_head(&self->summary);
  if (next) printf("  Try next     %s\n", next);
  if (!quiet && self->summary.count) rank_report_figures(&self->summary);
  if (!quiet && in_full) printf("\nTo read one rank in full: %s\n", in_full);
  (void)fflush(stdout); /* the sinks do not write to the stream */
}

bool rank_files_json(const rank_files *self) { return !has_summary(self) || rank_report_json(&self->summary, stdout); }

void rank_files_free(rank_files *self) {
  arena_free(&self->tables);
  rank_summary_free(&self->summary);
  free(self->spans);
  free(self->judged); /* what they point to is the sides' */
  for (uint32_t i = 0; i < self->count; i++) rank_side_free(&self->sides[i]);
  free(self->sides);
}
