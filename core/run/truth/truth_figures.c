/* See truth_figures.h. A scenario whose bottleneck lies in the loader alone reports nothing itself: what it injects is
 * the wait for data, which the loop measures. */
#include "truth_figures.h"

#include "dial.h"
#include "base/json_text.h"
#include "base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A smaller effect is not told from none, nor one that chance makes more often than TRUTH_MAX_CHANCE; with fewer rounds
 * than TRUTH_MIN_ROUNDS it may, whatever they are. */
#define TRUTH_MIN_EFFECT 0.01
#define TRUTH_MAX_CHANCE 0.05
#define TRUTH_MIN_ROUNDS 6

enum { US_DECIMALS = 3, SHARE_DECIMALS = 5 };

static bool add_number(json_t *to, const char *key, double value) {
  return json_text_add(to, key, json_text_number(value, US_DECIMALS));
}

/* `made`, or NULL where it is not whole: no memory. */
static json_t *if_whole(json_t *made, bool whole) {
  if (whole) return made;
  json_decref(made);
  return NULL;
}

/* What sets the intensity. */
static json_t *settings_of(const pd_run *run) {
  json_t *object = json_object();
  bool whole = true;
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    if (strcmp(setting->section, "scenario") != 0 && strcmp(setting->section, "data") != 0) continue;
    char key[128];
    snprintf(key, sizeof key, "%s.%s", setting->section, setting->key);
    whole = json_text_add(object, key, json_text_of(setting->value ? setting->value : "")) && whole;
  }
  return if_whole(object, whole);
}

static bool is_input(const pd_run *run) { return strcmp(run->bottleneck, "input_bound") == 0; }
/* A scenario without a cause may inject what no cause of the verdict stands for. */
static bool is_baseline(const truth_figures *self, const pd_run *run) {
  return strcmp(run->bottleneck, "none") == 0 && !self->timed && !self->counted;
}

/* The loader injects, and something else does too or could. */
static bool is_mixed(const truth_figures *self, const pd_run *run) { return self->loaded && !is_input(run); }

/* ---- injected ---- */

typedef struct sums {
  double step_us, wait_us, injected_us, count;
  double measured_us, loader_us; /* medians of what is set by time, which a stall of the machine does not move */
} sums;

static bool median_us(double *values, uint64_t count, double *out) {
  statistics spread = {0};
  const bool ok = statistics_make(values, count, &spread);
  *out = 1e-3 * spread.median;
  return ok;
}

static bool add_up(const truth_figures *self, const pd_run *run, sums *out) {
  const double steps = self->row_count ? (double)self->row_count : 1;
  double *dialled = malloc(2 * (self->row_count + 1) * sizeof *dialled);
  *out = (sums){0};
  if (!dialled) return false;
  double *loaded = dialled + self->row_count;
  for (uint64_t i = 0; i < self->row_count; i++) {
    const truth_row *row = &self->rows[i];
    out->step_us += 1e-3 * (double)row->cost_ns / steps;
    out->wait_us += 1e-3 * (double)row->wait_ns / steps;
    out->injected_us += 1e-3 * (double)(row->host_ns + row->device_ns) / steps;
    out->count += (double)row->count / steps;
    dialled[i] = (double)(row->host_ns + row->device_ns);
    loaded[i] = (double)row->loader_ns;
  }
  const bool ok =
      median_us(dialled, self->row_count, &out->measured_us) && median_us(loaded, self->row_count, &out->loader_us);
  free(dialled);
  if (is_input(run)) out->injected_us = out->wait_us;
  /* Nothing measured is not the same as nothing injected. */
  if (!is_input(run) && !self->timed && !is_baseline(self, run)) out->injected_us = NAN;
  if (!self->counted) out->count = NAN;
  return ok;
}

/* ---- its effect ---- */

/* The sign test: how often tossed coins would have as few rounds in which the injected steps took no longer. */
static double chance_of(const truth_rounds *of) {
  const double n = (double)of->count;
  uint64_t against = 0;
  double sum = 0;
  for (uint64_t i = 0; i < of->count; i++) against += of->at[i].with_ns <= of->at[i].without_ns;
  for (uint64_t i = 0; i <= against; i++)
    sum += exp(lgamma(n + 1) - lgamma((double)i + 1) - lgamma(n - (double)i + 1) - n * log(2));
  return sum;
}

static const char *path_of(const truth_rounds *of, const resample_ratio *effect) {
  const bool shown = effect->low > 1 && effect->ratio >= 1 + TRUTH_MIN_EFFECT && chance_of(of) < TRUTH_MAX_CHANCE;
  return shown ? "on the path" : "present, off the path";
}

/* ---- what was asked for ---- */

static double asked_of_loader(const truth_figures *self) {
  return self->loaded ? 1e-3 * (double)self->asked_loader_ns : NAN;
}

static bool is_dialled_by_effect(const truth_figures *self) { return self->dial_us > 0 || self->dial_share > 0; }

/* By its effect on the step: what was to be added, and what the rounds say was. */
static bool dial_by_effect(const truth_figures *self, truth_dialled_time *out) {
  truth_effect effect;
  *out = (truth_dialled_time){NAN, NAN, NAN, NAN};
  if (!self->rounds.count) return true;
  if (!truth_effect_of(&self->rounds, &effect)) return false;
  const double us = 1e-3 * effect.without_ns;
  *out = (truth_dialled_time){1e-3 * dial_wanted_ns(self->dial_us, self->dial_share, effect.without_ns),
                              1e-3 * effect.added_ns, us * (effect.ratio.low - 1), us * (effect.ratio.high - 1)};
  return true;
}

static bool dial_of(const truth_figures *self, const pd_run *run, bool loader, const sums *all,
                    truth_dialled_time *out) {
  if (loader || is_input(run)) {
    *out = (truth_dialled_time){asked_of_loader(self), all->loader_us, NAN, NAN};
    return true;
  }
  if (is_dialled_by_effect(self)) return dial_by_effect(self, out);
  *out = (truth_dialled_time){self->asked_us < 0 ? NAN : self->asked_us, all->measured_us, NAN, NAN};
  return true;
}

double truth_figures_off(const truth_dialled_time *of, double us) {
  return of->asked_us > 0 ? 100 * (us / of->asked_us - 1) : NAN;
}

static bool add_dial(json_t *to, const truth_dialled_time *of) {
  return add_number(to, "asked_us_per_step", of->asked_us) &&
         add_number(to, "measured_us_per_step", isnan(of->asked_us) ? NAN : of->measured_us) &&
         add_number(to, "dial_error_percent", truth_figures_off(of, of->measured_us)) &&
         add_number(to, "dial_error_low_percent", truth_figures_off(of, of->low_us)) &&
         add_number(to, "dial_error_high_percent", truth_figures_off(of, of->high_us));
}

static bool add_dials(json_t *to, const truth_figures *self, const pd_run *run, const sums *all) {
  truth_dialled_time of;
  const bool by_count = self->asked_count && !is_dialled_by_effect(self);
  return dial_of(self, run, false, all, &of) && add_dial(to, &of) &&
         add_number(to, "asked_count_per_step", by_count ? (double)self->asked_count : NAN);
}

bool truth_figures_dial(const truth_figures *self, const pd_run *run, bool loader, truth_dialled_time *out) {
  sums all;
  return self->row_count && (!loader || is_mixed(self, run)) && add_up(self, run, &all) &&
         dial_of(self, run, loader, &all, out) && out->asked_us > 0;
}

static json_t *share(double value) { return json_text_number(value, SHARE_DECIMALS); }

static json_t *rounds_of(const truth_rounds *of) {
  json_t *array = json_array();
  bool whole = true;
  for (uint64_t i = 0; i < of->count; i++)
    whole = json_text_append(array, json_pack("[o, o]", json_text_number(1e-3 * of->at[i].with_ns, US_DECIMALS),
                                              json_text_number(1e-3 * of->at[i].without_ns, US_DECIMALS))) &&
            whole;
  return if_whole(array, whole);
}

/* The key `effect`, of rounds. */
static bool add_rounds(json_t *to, const truth_rounds *of, truth_effect *effect) {
  if (!of->count) return json_text_add(to, "effect", json_null());
  if (!truth_effect_of(of, effect)) return false;
  json_t *object = json_object();
  const bool whole = add_number(object, "step_us", 1e-3 * effect->with_ns) &&
                     add_number(object, "control_step_us", 1e-3 * effect->without_ns) &&
                     add_number(object, "us_per_step", 1e-3 * effect->added_ns) &&
                     json_text_add(object, "share", share(1 - 1 / effect->ratio.ratio)) &&
                     json_text_add(object, "share_low", share(1 - 1 / effect->ratio.low)) &&
                     json_text_add(object, "share_high", share(1 - 1 / effect->ratio.high)) &&
                     json_text_add(object, "rounds", rounds_of(of));
  return json_text_add(to, "effect", object) && whole;
}

static bool add_effect(json_t *to, const truth_rounds *of, bool is_baseline) {
  truth_effect effect;
  if (!add_rounds(to, of, &effect)) return false;
  const char *path = NULL;
  if (of->count && is_baseline)
    path = "nothing injected";
  else if (of->count >= TRUTH_MIN_ROUNDS)
    path = path_of(of, &effect.ratio);
  return json_text_add(to, "path", json_text_of(path));
}

/* What the loader injects beside the scenario. */
static bool add_also(json_t *to, const truth_figures *self, const pd_run *run, const sums *all) {
  json_t *also = json_array();
  bool whole = true;
  truth_dialled_time of;
  if (is_mixed(self, run)) {
    json_t *object = json_object();
    whole = json_text_add(object, "cause", json_text_of("input_bound")) &&
            add_number(object, "injected_us_per_step", all->wait_us) && dial_of(self, run, true, all, &of) &&
            add_dial(object, &of) && add_effect(object, &self->input_rounds, false);
    whole = json_text_append(also, object) && whole;
  }
  return json_text_add(to, "also", also) && whole;
}

/* What the cures save, each against the run as it is. */
static bool add_cures(json_t *to, const truth_figures *self) {
  json_t *cures = json_array();
  bool whole = true;
  for (uint32_t i = 0; i < self->cure_count; i++) {
    const truth_cured *at = &self->cures[i];
    truth_effect effect;
    json_t *object = json_object();
    whole = json_text_add(object, "cause", json_text_of(at->cause)) &&
            json_text_add(object, "settings", json_text_of(at->settings)) &&
            json_text_add(object, "predicted", json_boolean(at->predicted)) &&
            add_rounds(object, &at->rounds, &effect) && whole;
    whole = json_text_append(cures, object) && whole;
  }
  return json_text_add(to, "cures", cures) && whole;
}

bool truth_figures_print(const truth_figures *self, const pd_run *run, FILE *out) {
  sums all;
  if (!add_up(self, run, &all)) return false;
  json_t *object =
      json_pack("{s:s, s:o, s:o, s:I}", "format", "pdhost.truth/1", "scenario", json_text_of(run->scenario), "cause",
                json_text_of(run->bottleneck), "steps", (json_int_t)self->row_count);
  const bool whole = add_number(object, "step_us", all.step_us) &&
                     add_number(object, "injected_us_per_step", all.injected_us) &&
                     add_number(object, "count_per_step", all.count) && add_dials(object, self, run, &all) &&
                     add_effect(object, &self->rounds, is_baseline(self, run)) && add_also(object, self, run, &all) &&
                     add_cures(object, self) && json_text_add(object, "settings", settings_of(run));
  return json_text_write(object, 2, JSON_TEXT_ROUNDED, out) && whole;
}
