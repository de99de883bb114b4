/* See timeline.h: several passes through the model in one step. A burst is a run of launches in the backward part, or,
 * where parts are not known, of another thread that takes turns with the one that begins the steps. Bursts of the same
 * kernels are passes; two models in one step are none, and neither are whole steps, each with an optimizer of its own.
 */
#include "timeline.h"

#include "facts/step_finder.h"

#include <stdlib.h>
#include <string.h>

/* Percent of the kernels of the smaller and of the larger of two bursts that have to be among the other's, for them to
 * launch the same. The first pass adds nothing to gradients, and the last one may have fewer samples, so that a library
 * chooses other kernels: 50 % of the larger one's were the same in a step of three passes. */
enum { ALIKE_SMALLER = 60, ALIKE_LARGER = 45 };

typedef struct burst {
  uint32_t first, last; /* records, kernels at either end */
  uint32_t kernels;
} burst;

typedef struct passes_build {
  timeline *timeline;
  uint32_t main; /* thread that begins most steps */
  burst *bursts; /* of one step */
  uint32_t count;
  uint32_t *names[2]; /* how often each string names a kernel of a burst */
  int64_t *ends;      /* by burst that is a pass, of all steps: when its last launch ends */
  uint32_t *first;    /* by step, into `ends` */
  uint32_t *next;     /* by record of a first pass: the next one of its name there */
} passes_build;

static bool find_main(passes_build *self) {
  const timeline *of = self->timeline;
  uint32_t *begun = calloc(of->facts->trace->threads.count + 1, sizeof *begun), most = 0, step = REPLAY_NONE;
  if (!begun) return false;
  for (uint32_t r = 0; r < of->record_count; r++) {
    const timeline_call *call = &of->calls[of->records[r].call];
    if (call->step == step) continue;
    step = call->step;
    if (++begun[call->thread] <= most) continue;
    most = begun[call->thread];
    self->main = call->thread;
  }
  free(begun);
  return true;
}

static bool is_backward(const passes_build *self, const timeline_record *record) {
  const timeline *of = self->timeline;
  const timeline_call *call = &of->calls[record->call];
  /* A thread that launches while the first one does is not handed the backward part. */
  if (!of->has_parts) return call->thread != self->main && call->lane == of->lane_of[self->main];
  return record->backward;
}

/* The bursts among the records [from, to) of one step. */
static void find_bursts(passes_build *self, uint32_t from, uint32_t to) {
  const timeline *of = self->timeline;
  bool open = false;
  uint32_t thread = REPLAY_NONE;
  self->count = 0;
  for (uint32_t r = from; r < to; r++) {
    const timeline_record *record = &of->records[r];
    if (record->kind != PD_ACTIVITY_KERNEL) continue;
    const bool backward = is_backward(self, record);
    if (!backward || of->calls[record->call].thread != thread) open = false;
    thread = of->calls[record->call].thread;
    if (!backward) continue;
    if (!open) self->bursts[self->count++] = (burst){.first = r};
    open = true;
    self->bursts[self->count - 1].last = r;
    self->bursts[self->count - 1].kernels++;
  }
}

/* Adds `by` for each kernel of the burst. */
static void count_names(const passes_build *self, const burst *one, uint32_t *names, uint32_t by) {
  const timeline *of = self->timeline;
  for (uint32_t r = one->first; r <= one->last; r++)
    if (of->records[r].kind == PD_ACTIVITY_KERNEL) names[of->records[r].name] += by;
}

static bool is_alike(const passes_build *self, const burst *one, const burst *largest) {
  const timeline *of = self->timeline;
  uint32_t *mine = self->names[1], *theirs = self->names[0], both = 0;
  count_names(self, one, mine, 1);
  for (uint32_t r = one->first; r <= one->last; r++) {
    if (of->records[r].kind != PD_ACTIVITY_KERNEL) continue;
    uint32_t *name = &mine[of->records[r].name];
    both += *name < theirs[name - mine] ? *name : theirs[name - mine];
    *name = 0;
  }
  const uint32_t smaller = one->kernels < largest->kernels ? one->kernels : largest->kernels;
  const uint32_t larger = one->kernels + largest->kernels - smaller;
  return (uint64_t)both * 100 >= (uint64_t)ALIKE_SMALLER * smaller &&
         (uint64_t)both * 100 >= (uint64_t)ALIKE_LARGER * larger;
}

static bool has_optimizer(const passes_build *self, uint32_t from, uint32_t to) {
  const timeline *of = self->timeline;
  for (uint32_t r = from; r < to; r++)
    if (of->records[r].kind == PD_ACTIVITY_KERNEL &&
        step_finder_is_optimizer(facts_text(of->facts, of->records[r].name)))
      return true;
  return false;
}

/* Keeps the step's bursts that are passes; how many. None where an optimizer comes between two of them: what one pass
 * alone would save is not known then, since the weights are others in each. */
static uint32_t keep_passes(passes_build *self, uint32_t at) {
  const timeline *of = self->timeline;
  const burst *largest = NULL, *before = NULL;
  uint32_t kept = 0;
  for (uint32_t b = 0; b < self->count; b++)
    if (!largest || self->bursts[b].kernels > largest->kernels) largest = &self->bursts[b];
  if (!largest) return 0;
  count_names(self, largest, self->names[0], 1);
  for (uint32_t b = 0; b < self->count; b++) {
    const burst *one = &self->bursts[b];
    if (!is_alike(self, one, largest)) continue;
    if (before && has_optimizer(self, before->last + 1, one->first)) {
      kept = 0;
      break;
    }
    self->ends[at + kept++] = of->calls[of->records[one->last].call].end_ns;
    before = one;
  }
  count_names(self, largest, self->names[0], UINT32_MAX); /* takes them off again */
  return kept;
}

static uint32_t pass_at(const passes_build *self, uint32_t step, int64_t start) {
  const uint32_t first = self->first[step], count = self->first[step + 1] - first;
  if (count < 2) return 0;
  for (uint32_t i = 0; i < count; i++)
    if (self->ends[first + i] >= start) return i;
  return REPLAY_NONE;
}

static int by_count(const void *a, const void *b) {
  const uint32_t *x = a, *y = b;
  return (*x > *y) - (*x < *y);
}

static bool find_passes(passes_build *self) {
  timeline *of = self->timeline;
  uint32_t *counts = malloc(((size_t)of->step_count + 1) * sizeof *counts), r = 0, kept = 0;
  if (!counts) return false;
  for (uint32_t s = 0; s < of->step_count; s++) {
    const uint32_t from = r;
    while (r < of->record_count && of->calls[of->records[r].call].step == s) r++;
    find_bursts(self, from, r);
    self->first[s] = kept;
    counts[s] = keep_passes(self, kept);
    kept += counts[s];
  }
  self->first[of->step_count] = kept;
  qsort(counts, of->step_count, sizeof *counts, by_count);
  of->passes = of->step_count && counts[of->step_count / 2] > 1 ? counts[of->step_count / 2] : 1;
  free(counts);
  return true;
}

static uint32_t name_of(const timeline *of, uint32_t record) { return of->records[record].name; }

/* For the records of the step's first pass: what those like them in later passes took. The n-th one of a name is like
 * the n-th one of that name. The first pass does not stand for the others: it is the first to read the weights that
 * the optimizer has written. */
static void add_later_passes(passes_build *self, uint32_t from, uint32_t to) {
  timeline *of = self->timeline;
  uint32_t *heads = self->names[0], *now = self->names[1]; /* by name, a record of the first pass and 1; 0: none */
  uint32_t first_end = from, pass = 0;
  for (uint32_t r = from; r < to; r++)
    if (!of->records[r].pass) first_end = r + 1;
  for (uint32_t r = first_end; r-- > from;) {
    self->next[r] = heads[name_of(of, r)];
    heads[name_of(of, r)] = r + 1;
  }
  for (uint32_t r = first_end; r < to && of->records[r].pass != REPLAY_NONE; r++) {
    if (of->records[r].pass != pass)
      for (uint32_t i = from; i < first_end; i++) now[name_of(of, i)] = heads[name_of(of, i)];
    pass = of->records[r].pass;
    uint32_t *like = &now[name_of(of, r)];
    if (!*like) continue;
    timeline_later *later = &of->later[*like - 1];
    later->ns += facts_span(of->records[r].start_ns, of->records[r].end_ns);
    later->count++;
    *like = self->next[*like - 1];
  }
  for (uint32_t r = from; r < first_end; r++) heads[name_of(of, r)] = now[name_of(of, r)] = 0;
}

static bool mark(passes_build *self) {
  timeline *of = self->timeline;
  uint32_t from = 0, step = REPLAY_NONE;
  of->later = calloc((size_t)of->record_count + 1, sizeof *of->later);
  if (!of->later) return false;
  for (uint32_t r = 0; r < of->record_count; r++) {
    const timeline_call *call = &of->calls[of->records[r].call];
    of->records[r].pass = pass_at(self, call->step, call->start_ns);
    if (call->step != step) {
      add_later_passes(self, from, r);
      from = r;
    }
    step = call->step;
  }
  add_later_passes(self, from, of->record_count);
  for (uint64_t i = 0; i < of->item_count; i++) {
    replay_item *item = &of->items[i];
    /* What lies between two passes leads to the second one. */
    const int64_t at = item->begin_ns + (item->flags & REPLAY_QUIET ? item->duration_ns : 0);
    const uint32_t pass = pass_at(self, item->step, at);
    if (pass && pass != REPLAY_NONE) item->flags |= REPLAY_LATER_PASS;
  }
  return true;
}

bool timeline_find_passes(timeline *self) {
  const uint64_t strings = self->facts->trace->strings.count;
  passes_build build = {.timeline = self,
                        .bursts = malloc(((size_t)self->record_count + 1) * sizeof *build.bursts),
                        .names = {calloc(strings + 1, sizeof(uint32_t)), calloc(strings + 1, sizeof(uint32_t))},
                        .ends = malloc(((size_t)self->record_count + 1) * sizeof *build.ends),
                        .first = malloc(((size_t)self->step_count + 2) * sizeof *build.first),
                        .next = malloc(((size_t)self->record_count + 1) * sizeof *build.next)};
  bool ok = build.bursts && build.names[0] && build.names[1] && build.ends && build.first && build.next &&
            find_main(&build) && find_passes(&build);
  if (ok && self->passes > 1) ok = mark(&build);
  free(build.bursts);
  free(build.names[0]);
  free(build.names[1]);
  free(build.ends);
  free(build.first);
  free(build.next);
  return ok;
}
