/* When the file of a rank was recorded: what tells files of one job from those of others. */
#ifndef CORE_RUN_RANK_SPAN_H
#define CORE_RUN_RANK_SPAN_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rank_span {
  const char *path;         /* borrowed */
  uint32_t rank, ranks;     /* ranks 0: the file does not say */
  int64_t start_ns, end_ns; /* CLOCK_REALTIME, if the span is dated */
} rank_span;

/* False: the file does not say when it was, so that its times mean nothing beside those of other files. */
bool rank_span_is_dated(const rank_span *self);
/* How long nothing was recorded between one and the other, in whatever order; below 0: they overlap. */
int64_t rank_span_gap(const rank_span *a, const rank_span *b);

/* True: files that name their ranks are not of one job, and `text` says why. They name different numbers of ranks, or
 * the same rank at the same time, or a rank has a file with none of another rank within an hour of it. */
enum { RANK_SPANS_TEXT = 400 };
bool rank_spans_differ(const rank_span *spans, uint32_t count, char text[RANK_SPANS_TEXT]);

#endif
