/* See rank_span.h. */
#include "rank_span.h"

#include <pdhost/quantity.h>

#include <stdio.h>
#include <string.h>

/* Times below this are no dates of this century. */
#define LEAST_DATE_NS INT64_C(1000000000000000000)
/* Clocks of two hosts agree better than this, and ranks of one job are recorded together. */
#define APART_NS INT64_C(3600000000000)

bool rank_span_is_dated(const rank_span *self) { return self->start_ns > LEAST_DATE_NS; }

int64_t rank_span_gap(const rank_span *a, const rank_span *b) {
  const int64_t after = b->start_ns - a->end_ns, before = a->start_ns - b->end_ns;
  return after > before ? after : before;
}

static const char *name_of(const rank_span *self) {
  const char *slash = strrchr(self->path, '/');
  return slash ? slash + 1 : self->path;
}

static bool is_comparable(const rank_span *a, const rank_span *b) {
  return a->ranks && b->ranks && rank_span_is_dated(a) && rank_span_is_dated(b);
}

static bool have_other_counts(const rank_span *a, const rank_span *b, char text[RANK_SPANS_TEXT]) {
  if (!a->ranks || !b->ranks || a->ranks == b->ranks) return false;
  (void)snprintf(text, RANK_SPANS_TEXT, "these files are of different jobs (%u and %u ranks)", a->ranks, b->ranks);
  return true;
}

static bool are_one_rank_twice(const rank_span *a, const rank_span *b, char text[RANK_SPANS_TEXT]) {
  if (!is_comparable(a, b) || a->rank != b->rank || rank_span_gap(a, b) >= 0) return false;
  (void)snprintf(text, RANK_SPANS_TEXT,
                 "%.120s and %.120s are both of rank %u at the same time. Give the files of one job, each of them once",
                 name_of(a), name_of(b), a->rank);
  return true;
}

/* No file of the rank of `other` is near. */
static bool is_alone(const rank_span *spans, uint32_t count, const rank_span *self, const rank_span *other,
                     char text[RANK_SPANS_TEXT]) {
  char gap[32];
  if (!is_comparable(self, other) || self->rank == other->rank || rank_span_gap(self, other) <= APART_NS) return false;
  for (uint32_t i = 0; i < count; i++)
    if (spans[i].rank == other->rank && is_comparable(self, &spans[i]) &&
        rank_span_gap(self, &spans[i]) < rank_span_gap(self, other))
      other = &spans[i];
  if (rank_span_gap(self, other) <= APART_NS) return false;
  pd_text_time(gap, sizeof gap, (double)rank_span_gap(self, other));
  (void)snprintf(text, RANK_SPANS_TEXT,
                 "%.120s is %s apart from %.120s, the nearest file of rank %u. Give the files of one job, recorded at "
                 "the same time",
                 name_of(self), gap, name_of(other), other->rank);
  return true;
}

bool rank_spans_differ(const rank_span *spans, uint32_t count, char text[RANK_SPANS_TEXT]) {
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (have_other_counts(&spans[k], &spans[i], text)) return true;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < i; k++)
      if (are_one_rank_twice(&spans[k], &spans[i], text)) return true;
  for (uint32_t i = 0; i < count; i++)
    for (uint32_t k = 0; k < count; k++)
      if (is_alone(spans, count, &spans[i], &spans[k], text)) return true;
  return false;
}
