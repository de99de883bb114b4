/* See verdict_advice.h. */
#include "verdict_advice.h"

#include "verdict.h"

#include <math.h>
#include <string.h>

/* More than is needed by this much, so that one late batch does not hold up the step; more workers than this are no
 * cure. */
#define WORKERS_TO_SPARE 1.25
#define WORKERS_MOST 64

/* Keys that have a flag of their own on the command line, where it would win over an -o: they are given by flag. */
static const struct {
  const char *setting, *flag;
} flags[] = {{"data.num_workers=", "--num_workers "},
             {"data.prefetch_factor=", "--prefetch_factor "},
             {"data.pin_memory=true", "--pin_memory"},
             {"train.amp=true", "--amp"},
             {"train.channels_last=true", "--channels_last"}};

static const char *one_option(const verdict_setting *self, const char *setting) {
  for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
    const size_t length = strlen(flags[i].setting);
    if (!strncmp(setting, flags[i].setting, length))
      return arena_format(self->arena, "%s%s", flags[i].flag, setting + length);
  }
  return arena_format(self->arena, "-o %s", setting);
}

/* "a=1 b=2" as "-o a=1 -o b=2". */
static const char *as_options(const verdict_setting *self, const char *overrides) {
  const char *options = "";
  for (const char *at = overrides; *at; at += strspn(at, " ")) {
    const size_t length = strcspn(at, " ");
    const char *setting = arena_format(self->arena, "%.*s", (int)length, at);
    options = arena_format(self->arena, "%s%s%s", options, *options ? " " : "", one_option(self, setting));
    at += length;
  }
  return options;
}

static const char *cure_of(const verdict_setting *self, const char *cause) {
  for (const pd_cure *cure = self->cures; cure && cure->cause; cure++)
    if (!strcmp(cure->cause, cause)) return cure->settings;
  return NULL;
}

/* Whether the run could have them all; where it is not known, what its kind of device has. */
static bool has_offers(const verdict_setting *self, pd_offers wanted) {
  const pd_offers known = self->offers;
  if (known & PD_OFFER_KNOWN) return (known & wanted) == wanted;
  return self->is_cuda || !(wanted & (PD_OFFER_AMP | PD_OFFER_CUDA_GRAPH));
}

/* ---- input ---- */

typedef struct loading {
  double batch_ns, read_ns; /* of one batch: making it, and reading within that */
  uint64_t batches;
} loading;

static loading loading_of(const trace_facts *facts) {
  loading out = {0};
  for (uint64_t i = 0; i < facts->range_count; i++) {
    const pd_range *range = facts_range(facts, i);
    if (range->kind != PD_RANGE_WORKER) continue;
    const bool batch = !strcmp(facts_text(facts, range->name), "DataLoader worker: batch");
    const bool read = !batch && !strcmp(facts_text(facts, range->name), "DataLoader worker: read");
    const double ns = (double)facts_span(range->start_ns, range->end_ns);
    if (batch) out.batches++;
    if (batch) out.batch_ns += ns;
    if (read) out.read_ns += ns;
  }
  if (out.batches) {
    out.batch_ns /= (double)out.batches;
    out.read_ns /= (double)out.batches;
  }
  return out;
}

/* Enough workers, where that is a matter of their number and there are fewer: reading needs no core, the rest needs all
 * but the loop's. Else batches that are made before the run. */
static const char *input_cure(const verdict_setting *self, double own_step_ns) {
  const loading one = loading_of(self->facts);
  const double cores = self->cores > 1 ? self->cores - 1 : 1;
  const double wanted = ceil(WORKERS_TO_SPARE * one.batch_ns / own_step_ns);
  const bool have_cores = (one.batch_ns - one.read_ns) * WORKERS_TO_SPARE <= own_step_ns * cores;
  const bool is_more = !(wanted <= (double)self->num_workers);
  if (!one.batches || !have_cores || !is_more || !(wanted <= WORKERS_MOST))
    return has_offers(self, PD_OFFER_RESIDENT) ? "data.resident=device" : NULL;
  return arena_format(self->arena, "data.num_workers=%.0f data.prefetch_factor=4", wanted < 2 ? 2 : wanted);
}

/* ---- all causes ---- */

/* A setting of the core's that the run could have, and whose gain is the cause's; NULL: there is none. */
static const char *core_cure(const verdict_setting *self, uint32_t cause) {
  switch (cause) {
  case VERDICT_input_bound: return input_cure(self, self->gains->step_ns * (1 - self->gains->causes[cause].gain));
  case VERDICT_launch_bound: return has_offers(self, PD_OFFER_CUDA_GRAPH) ? "train.cuda_graph=true" : NULL;
  case VERDICT_pageable_copy:
    return has_offers(self, PD_OFFER_PIN_MEMORY | PD_OFFER_PREFETCH)
               ? "data.pin_memory=true data.prefetch_to_device=true"
               : NULL;
  case VERDICT_pinned_copy: return has_offers(self, PD_OFFER_PREFETCH) ? "data.prefetch_to_device=true" : NULL;
  case VERDICT_profiler: return "profile.timer_only=true";
  default: return NULL;
  }
}

verdict_advice verdict_advise(const verdict_setting *self, uint32_t cause) {
  const char *cure = cure_of(self, verdict_key(cause));
  verdict_advice out = {.overrides = cure ? cure : core_cure(self, cause)};
  out.options = out.overrides ? as_options(self, out.overrides) : "-o profile.with_stack=true";
  return out;
}
