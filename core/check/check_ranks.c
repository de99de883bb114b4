/* See check_ranks.h. */
#include "check_ranks.h"

#include <pdhost/quantity.h>

#include <stdlib.h>
#include <string.h>

/* Ranks leave a collective together, within microseconds; clocks of one machine agree better than this. */
#define CLOCK_LIMIT_NS 1000000.0
/* Collectives that must agree on how far two clocks are apart. */
enum { LEAST_COLLECTIVES = 5 };

static bool is_collective(const char *name) { return strstr(name, "ncclDevKernel") || strstr(name, "ncclKernel"); }

static int by_time(const void *a, const void *b) {
  const int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
  return (first > second) - (first < second);
}

pd_status check_rank_take(check_rank *self, const char *path, const check_rows *rows) {
  const check_work *works = rows->works.data;
  int64_t least, most;
  *self = (check_rank){.span = {.path = path, .rank = rows->source.rank, .ranks = rows->source.ranks}};
  if (!check_rows_extent(rows, &least, &most)) return PD_OK;
  self->span.start_ns = rows->source.base_ns + least;
  self->span.end_ns = rows->source.base_ns + most;
  uint64_t count = 0;
  for (uint64_t i = 0; i < rows->works.count; i++)
    count += is_collective(strings_get(rows->strings, works[i].name).text);
  self->collective_ends = malloc((size_t)(count + 1) * sizeof *self->collective_ends);
  if (!self->collective_ends) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < rows->works.count; i++)
    if (is_collective(strings_get(rows->strings, works[i].name).text))
      self->collective_ends[self->collective_count++] = rows->source.base_ns + works[i].end;
  qsort(self->collective_ends, self->collective_count, sizeof *self->collective_ends, by_time);
  return PD_OK;
}

void check_rank_free(check_rank *self) { free(self->collective_ends); }

/* Files of one rank that do not overlap are windows of it. */
static void check_numbers(const check_rank *files, uint32_t count, const rank_span *first, check_findings *findings) {
  for (uint32_t i = 0; i < count; i++) {
    const rank_span *at = &files[i].span;
    if (!at->ranks || at == first) continue;
    if (at->ranks != first->ranks && finding_add(findings, CHECK_RANK_COUNT, 0, CHECK_NO_BYTE))
      finding_say(findings, CHECK_RANK_COUNT, "%s is of %u ranks, and %s of %u", at->path, at->ranks, first->path,
                  first->ranks);
    for (uint32_t k = 0; k < i; k++) {
      const rank_span *before = &files[k].span;
      if (!before->ranks || before->rank != at->rank || rank_span_gap(before, at) > 0) continue;
      if (finding_add(findings, CHECK_RANK_TWICE, 0, CHECK_NO_BYTE))
        finding_say(findings, CHECK_RANK_TWICE, "%s and %s are both of rank %u", before->path, at->path, at->rank);
      break;
    }
  }
}

/* The dated file of rank `rank` that is nearest to this one; NULL: there is none. */
static const check_rank *nearest(const check_rank *files, uint32_t count, const rank_span *self, uint32_t rank) {
  const check_rank *found = NULL;
  for (uint32_t i = 0; i < count; i++)
    if (files[i].span.ranks && files[i].span.rank == rank && rank_span_is_dated(&files[i].span) &&
        (!found || rank_span_gap(&files[i].span, self) < rank_span_gap(&found->span, self)))
      found = &files[i];
  return found;
}

/* No file of one rank touches any of the other's in time. */
static bool is_apart(const check_rank *files, uint32_t count, uint32_t rank, uint32_t other) {
  for (uint32_t i = 0; i < count; i++) {
    const rank_span *at = &files[i].span;
    if (!at->ranks || at->rank != rank || !rank_span_is_dated(at)) continue;
    const check_rank *near = nearest(files, count, at, other);
    if (near && rank_span_gap(&near->span, at) <= 0) return false;
  }
  return true;
}

static void add_apart(const rank_span *first, const rank_span *at, check_findings *findings) {
  char text[32];
  const double by = (double)rank_span_gap(first, at);
  if (!finding_add(findings, CHECK_RANK_APART, by, CHECK_NO_BYTE)) return;
  pd_text_time(text, sizeof text, by);
  if (at->start_ns > first->start_ns)
    finding_say(findings, CHECK_RANK_APART, "%s begins %s after %s ends", at->path, text, first->path);
  else
    finding_say(findings, CHECK_RANK_APART, "%s ends %s before %s begins", at->path, text, first->path);
}

/* The collectives of one number end together: what they all differ by is the clocks' difference. Where the middle four
 * fifths of the differences are far from each other, the two files' collectives are not the same ones. */
static pd_status check_clock_of(const check_rank *first, const check_rank *at, check_findings *findings) {
  const uint64_t count = at->collective_count;
  char text[32];
  if (count < LEAST_COLLECTIVES || count != first->collective_count) return PD_OK;
  int64_t *by = malloc((size_t)count * sizeof *by);
  if (!by) return PD_NO_MEMORY;
  for (uint64_t i = 0; i < count; i++) by[i] = at->collective_ends[i] - first->collective_ends[i];
  qsort(by, count, sizeof *by, by_time);
  const uint64_t tenth = count / 10, half = count / 2;
  const double middle = (double)by[half], spread = (double)(by[count - 1 - tenth] - by[tenth]);
  free(by);
  const double size = pd_size_of(middle);
  if (size <= CLOCK_LIMIT_NS || spread > size / 4) return PD_OK;
  if (finding_add(findings, CHECK_RANK_CLOCK, size, CHECK_NO_BYTE)) {
    pd_text_time(text, sizeof text, size);
    finding_say(findings, CHECK_RANK_CLOCK, "%s is %s %s %s, by the ends of %llu collectives", at->span.path, text,
                middle > 0 ? "ahead of" : "behind", first->span.path, (unsigned long long)count);
  }
  return PD_OK;
}

pd_status check_ranks(const check_rank *files, uint32_t count, check_findings *findings) {
  const rank_span *first = NULL;
  uint32_t named = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (files[i].span.ranks && !first) first = &files[i].span;
    named += files[i].span.ranks > 0;
  }
  if (named < 2) return PD_OK;
  if (named < count) finding_note(findings, "%u of the files do not name their rank", count - named);
  check_numbers(files, count, first, findings);
  pd_status status = PD_OK;
  for (uint32_t i = 0; i < count && status == PD_OK; i++) {
    const rank_span *at = &files[i].span;
    if (!at->ranks || at->rank == first->rank || !rank_span_is_dated(at)) continue;
    const check_rank *near = nearest(files, count, at, first->rank);
    if (near && rank_span_gap(&near->span, at) <= 0)
      status = check_clock_of(near, &files[i], findings);
    else if (near && is_apart(files, count, at->rank, first->rank))
      add_apart(&near->span, at, findings);
  }
  return status;
}
