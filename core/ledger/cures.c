/* See cures.h. */
#include "cures.h"

#include "facts/loader_use.h"

#include <math.h>
#include <string.h>

/* More than is needed by this much. A worker that only waits costs nothing, so that half as many again keep one late
 * batch from holding up the step; more workers than WORKERS_MOST are no cure. */
#define WORKERS_TO_SPARE 1.5
#define CORES_TO_SPARE 1.25
#define WORKERS_MOST 64

/* Settings of the core's that do not depend on what was recorded. The replay's graph launches the same kernels without
 * their launching, its prefetch copies the same bytes beside the step; what a fused kernel saves of the device's work
 * is written nowhere in a trace. */
static const struct {
  uint32_t cause;
  pd_offers wanted; /* all of them */
  pd_offers had;    /* the run has them already */
  cure of;
} of_core[] = {
    {VERDICT_launch_bound, PD_OFFER_CUDA_GRAPH, 0, {.settings = "train.cuda_graph=true", .part = 1}},
    {VERDICT_launch_bound,
     PD_OFFER_UNREAD_GRAPH,
     0,
     {.settings = "train.scaler_sync=false train.cuda_graph=true", .part = 1, .unblocks = true}},
    {VERDICT_launch_bound,
     PD_OFFER_FUSED,
     0,
     {.settings = "train.fused=true",
      .unpredicted = "fused kernels also do away with work of the device, which no replay can tell",
      .part = 1}},
    {VERDICT_pageable_copy,
     PD_OFFER_PIN_MEMORY | PD_OFFER_PREFETCH,
     0,
     {.settings = "data.pin_memory=true data.prefetch_to_device=true", .part = 1}},
    {VERDICT_pinned_copy,
     PD_OFFER_PREFETCH,
     PD_OFFER_PIN_MEMORY,
     {.settings = "data.prefetch_to_device=true", .part = 1}},
    {VERDICT_profiler, 0, 0, {.settings = "profile.timer_only=true", .part = 1}},
    {VERDICT_none,
     PD_OFFER_CHANNELS_LAST,
     0,
     {.settings = "train.channels_last=true",
      .unpredicted = "another layout takes other kernels, whose time no replay can tell",
      .part = 1}},
};

/* Whether the run could have them all; where that is not known, what its kind of device has, but for what comes with a
 * loss scaler. */
static bool has_offers(const verdict_setting *self, pd_offers wanted) {
  const pd_offers known = self->offers;
  if (known & PD_OFFER_KNOWN) return (known & wanted) == wanted;
  return !(wanted & (PD_OFFER_UNREAD_GRAPH | PD_OFFER_UNREAD_SCALER)) &&
         (self->is_cuda || !(wanted & (PD_OFFER_AMP | PD_OFFER_CUDA_GRAPH)));
}

/* ---- input ---- */

/* Enough workers, where that is a matter of their number and there are fewer: reading needs no core, the rest needs all
 * but the loop's. NULL: workers are no cure, or nothing is known of theirs. */
static const char *more_workers(const verdict_setting *self) {
  if (!self->facts) return NULL;
  const loader_use one = loader_use_of(self->facts, INT64_MIN, INT64_MAX);
  if (!one.begun) return NULL;
  const double own_step_ns = self->gains->step_ns * (1 - self->gains->causes[VERDICT_input_bound].gain);
  const double cores = self->cores > 1 ? self->cores - 1 : 1;
  const double wanted = ceil(WORKERS_TO_SPARE * one.batch_ns / own_step_ns);
  const bool have_cores = (one.batch_ns - one.read_ns) * CORES_TO_SPARE <= own_step_ns * cores;
  const bool is_more = !(wanted <= (double)self->num_workers);
  if (!have_cores || !is_more || !(wanted <= WORKERS_MOST)) return NULL;
  return arena_format(self->arena, "data.num_workers=%.0f data.prefetch_factor=4", wanted < 2 ? 2 : wanted);
}

/* Workers, or else batches that are made before the run, which are not copied either. */
static uint32_t of_input(const verdict_setting *self, cure *out) {
  const char *workers = more_workers(self);
  uint32_t count = 0;
  if (workers) out[count++] = (cure){.settings = workers, .part = 1};
  if (has_offers(self, PD_OFFER_RESIDENT))
    out[count++] = (cure){
        .settings = "data.resident=device",
        .unpredicted = workers ? "batches that are made before the run take no core, which no replay can tell" : NULL,
        .part = 1,
        .more = self->gains ? self->gains->uncopied : 0};
  return count;
}

/* ---- all causes ---- */

static const char *of_scenario(const verdict_setting *self, const char *cause) {
  for (const pd_cure *at = self->cures; at && at->cause; at++)
    if (!strcmp(at->cause, cause)) return at->settings;
  return NULL;
}

/* The scenario's cure, or NULL. The gain of forced_sync includes the loss scaler's read, which no scenario's cure
 * removes. So the setting that does is added, where the run could have it. */
static const char *first_cure(const verdict_setting *self, uint32_t cause) {
  static const char unread[] = "train.scaler_sync=false";
  const char *own = of_scenario(self, verdict_key(cause));
  if (cause != VERDICT_forced_sync || !has_offers(self, PD_OFFER_UNREAD_SCALER)) return own;
  return own ? arena_format(self->arena, "%s %s", own, unread) : unread;
}

/* A graph launches the same kernels, however short. */
static double captured_part(const gains_cause *of, bool unblocks) {
  return of->gain > 0 ? fmax(0, of->captured) / of->gain : unblocks ? 0 : 1;
}

uint32_t cures_find(const verdict_setting *self, uint32_t cause, cure out[CURES_MOST]) {
  uint32_t count = 0;
  const pd_offers known = self->offers & PD_OFFER_KNOWN ? self->offers : 0;
  const char *own = first_cure(self, cause);
  if (own) out[count++] = (cure){.settings = own, .part = 1};
  if (cause == VERDICT_input_bound) count += of_input(self, out + count);
  for (size_t i = 0; i < sizeof of_core / sizeof *of_core && count < CURES_MOST; i++)
    if (of_core[i].cause == cause && has_offers(self, of_core[i].wanted) && !(known & of_core[i].had))
      out[count++] = of_core[i].of;
  for (uint32_t i = 0; self->gains && i < count; i++) {
    if (strstr(out[i].settings, "train.cuda_graph=true"))
      out[i].part = captured_part(&self->gains->causes[cause], out[i].unblocks);
    if (out[i].unblocks) out[i].more = self->gains->unsynced;
  }
  return count;
}

/* ---- what to type ---- */

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

verdict_advice verdict_advise(const verdict_setting *self, uint32_t cause) {
  cure cures[CURES_MOST];
  verdict_advice out = {.saves = {.part = 1}};
  if (cures_find(self, cause, cures) && !cures[0].unpredicted) {
    out.overrides = cures[0].settings;
    out.saves = cures[0];
  }
  out.options = out.overrides ? as_options(self, out.overrides) : "-o profile.with_stack=true";
  return out;
}
