/* See compare_junit.h. */
#include "compare_junit.h"

#include "gate/junit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void fill_pair(junit_case *self, const compare_report *of, const sample_pair *at) {
  char a[JUNIT_NAME_BYTES], b[JUNIT_NAME_BYTES];
  sample_pair_side(of->from, at->a, at->b, a, sizeof a);
  sample_pair_side(of->from, at->b, at->a, b, sizeof b);
  sample_pair_title(at, self->name, sizeof self->name);
  self->verdict = at->verdict;
  self->time_s = at->b->figures.median;
  if (at->timeless)
    snprintf(self->message, sizeof self->message, "%s against %s: a time is zero, so there is no ratio", b, a);
  else
    comparison_sentence(&at->of, a, b, self->message, sizeof self->message);
}

/* As --gate has it: a task that one side lacks leaves the answer open. */
static void fill_alone(junit_case *self, const compare_report *of, const sample *at) {
  sample_title(at, true, self->name, sizeof self->name);
  snprintf(self->message, sizeof self->message, "only in %s", of->from->names[at->file]);
  self->verdict = OUTCOME_UNCLEAR;
  self->time_s = (double)NAN;
}

pd_status compare_junit_write(const compare_report *self, const char *suite, const char *path, error *err) {
  const uint32_t pairs = self->pairs->count, count = pairs + self->pairs->alone_count;
  junit_case *cases = calloc(count + 1u, sizeof *cases);
  if (!cases) return error_no_memory(err);
  for (uint32_t i = 0; i < pairs; i++) fill_pair(&cases[i], self, &self->pairs->all[i]);
  for (uint32_t i = pairs; i < count; i++) fill_alone(&cases[i], self, self->pairs->alone[i - pairs]);
  const pd_status status = junit_write(path, suite, cases, count, err);
  free(cases);
  return status;
}
