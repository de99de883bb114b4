/* See check_ranks.h. */
#include "check_ranks.h"

#include <pdhost/quantity.h>

#include <stdlib.h>
#include <string.h>

/* Ranks leave a collective together, within microseconds; clocks of one machine agree better than this. */
#define CLOCK_LIMIT_NS 1000000.0
/* Collectives that must agree on how far two clocks are apart. */
enum { LEAST_COLLECTIVES = 5 };
/* Times below this are no dates of this century: the file does not say when it was. */
#define LEAST_DATE_NS INT64_C(1000000000000000000)

static bool is_collective(const char *name) { return strstr(name, "ncclDevKernel") || strstr(name, "ncclKernel"); }

static int by_time(const void *a, const void *b) {
  const int64_t first = *(const int64_t *)a, second = *(const int64_t *)b;
  return (first > second) - (first < second);
}

pd_status check_rank_take(check_rank *self, const char *path, const check_rows *rows) {
  const check_work *works = rows->works.data;
  int64_t least, most;
  *self = (check_rank){.path = path, .rank = rows->source.rank, .ranks = rows->source.ranks};
  if (!check_rows_extent(rows, &least, &most)) return PD_OK;
  self->start_ns = rows->source.base_ns + least;
  self->end_ns = rows->source.base_ns + most;
  self->is_dated = self->start_ns > LEAST_DATE_NS;
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

static void check_numbers(const check_rank *files, uint32_t count, const check_rank *first, check_findings *findings) {
  for (uint32_t i = 0; i < count; i++) {
    const check_rank *at = &files[i];
    if (!at->ranks || at == first) continue;
    if (at->ranks != first->ranks && finding_add(findings, CHECK_RANK_COUNT, 0, CHECK_NO_BYTE))
      finding_say(findings, CHECK_RANK_COUNT, "%s is of %u ranks, and %s of %u", at->path, at->ranks, first->path,
                  first->ranks);
    for (uint32_t k = 0; k < i; k++)
      if (files[k].ranks && files[k].rank == at->rank) {
        if (finding_add(findings, CHECK_RANK_TWICE, 0, CHECK_NO_BYTE))
          finding_say(findings, CHECK_RANK_TWICE, "%s and %s are both of rank %u", files[k].path, at->path, at->rank);
        break;
      }
  }
}

/* True: the two files do not touch in time. */
static bool are_apart(const check_rank *first, const check_rank *at, check_findings *findings) {
  char text[32];
  if (!first->is_dated || !at->is_dated) return false;
  const double after = (double)(at->start_ns - first->end_ns), before = (double)(first->start_ns - at->end_ns);
  const double by = after > before ? after : before;
  if (by <= 0) return false;
  if (finding_add(findings, CHECK_RANK_APART, by, CHECK_NO_BYTE)) {
    pd_text_time(text, sizeof text, by);
    if (after > before)
      finding_say(findings, CHECK_RANK_APART, "%s begins %s after %s ends", at->path, text, first->path);
    else
      finding_say(findings, CHECK_RANK_APART, "%s ends %s before %s begins", at->path, text, first->path);
  }
  return true;
}

/* The collectives of one number end together: what they all differ by is the clocks' difference. Where the middle four
 * fifths of the differences are far from each other, the two files' collectives are not the same ones. */
static pd_status check_clock_of(const check_rank *first, const check_rank *at, check_findings *findings) {
  const uint64_t count = at->collective_count;
  char text[32];
  if (!first->is_dated || !at->is_dated || count < LEAST_COLLECTIVES || count != first->collective_count) return PD_OK;
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
    finding_say(findings, CHECK_RANK_CLOCK, "%s is %s %s %s, by the ends of %llu collectives", at->path, text,
                middle > 0 ? "ahead of" : "behind", first->path, (unsigned long long)count);
  }
  return PD_OK;
}

pd_status check_ranks(const check_rank *files, uint32_t count, check_findings *findings) {
  const check_rank *first = NULL;
  uint32_t named = 0;
  for (uint32_t i = 0; i < count; i++) {
    if (files[i].ranks && !first) first = &files[i];
    named += files[i].ranks > 0;
  }
  if (named < 2) return PD_OK;
  if (named < count) finding_note(findings, "%u of the files do not name their rank", count - named);
  check_numbers(files, count, first, findings);
  pd_status status = PD_OK;
  for (uint32_t i = 0; i < count && status == PD_OK; i++)
    if (files[i].ranks && &files[i] != first && !are_apart(first, &files[i], findings))
      status = check_clock_of(first, &files[i], findings);
  return status;
}
