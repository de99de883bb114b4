/* See truth_figures.h. A scenario whose bottleneck lies in the loader alone reports nothing itself: what it injects is
 * the wait for data, which the loop measures. */
#include "truth_figures.h"

#include "base/resample.h"
#include "base/statistics.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A smaller effect is not told from none, nor one that chance makes more often than TRUTH_MAX_CHANCE; with fewer rounds
 * than TRUTH_MIN_ROUNDS it may, whatever they are. */
#define TRUTH_MIN_EFFECT 0.01
#define TRUTH_MAX_CHANCE 0.05
#define TRUTH_MIN_ROUNDS 6

static void put_text(FILE *out, const char *text) {
  putc('"', out);
  for (; *text; text++) {
    if (*text == '"' || *text == '\\') putc('\\', out);
    if ((unsigned char)*text < ' ')
      fprintf(out, "\\u%04x", (unsigned)*text);
    else
      putc(*text, out);
  }
  putc('"', out);
}

static void put_key(FILE *out, const char *key) { fprintf(out, ",\n  \"%s\": ", key); }

/* NaN: null. */
static void put_number(FILE *out, const char *key, double value) {
  put_key(out, key);
  if (isnan(value))
    fputs("null", out);
  else
    fprintf(out, "%.3f", value);
}

/* What sets the intensity. */
static void put_settings(FILE *out, const pd_run *run) {
  const char *comma = "";
  put_key(out, "settings");
  fputs("{", out);
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *setting = PD_AT(pd_setting, &run->settings, i);
    if (strcmp(setting->section, "scenario") != 0 && strcmp(setting->section, "data") != 0) continue;
    char key[128];
    snprintf(key, sizeof key, "%s.%s", setting->section, setting->key);
    fprintf(out, "%s\n    ", comma);
    put_text(out, key);
    fputs(": ", out);
    put_text(out, setting->value ? setting->value : "");
    comma = ",";
  }
  fputs("\n  }\n", out);
}

static bool is_input(const pd_run *run) { return strcmp(run->bottleneck, "input_bound") == 0; }
static bool is_baseline(const pd_run *run) { return strcmp(run->bottleneck, "none") == 0; }

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
  if (!is_input(run) && !self->timed && !is_baseline(run)) out->injected_us = NAN;
  if (!self->counted) out->count = NAN;
  return ok;
}

/* `asked` is NaN for what is not dialled by time. */
static void put_dial(double asked, double measured, FILE *out) {
  put_number(out, "asked_us_per_step", asked);
  put_number(out, "measured_us_per_step", isnan(asked) ? NAN : measured);
  put_number(out, "dial_error_percent", asked > 0 ? 100 * (measured / asked - 1) : NAN);
}

static double asked_of_loader(const truth_figures *self) {
  return self->loaded ? 1e-3 * (double)self->asked_loader_ns : NAN;
}

static void put_dials(const truth_figures *self, const pd_run *run, const sums *all, FILE *out) {
  if (is_input(run))
    put_dial(asked_of_loader(self), all->loader_us, out);
  else
    put_dial(self->asked_us < 0 ? NAN : self->asked_us, all->measured_us, out);
  put_number(out, "asked_count_per_step", self->asked_count ? (double)self->asked_count : NAN);
}

bool truth_figures_dial(const truth_figures *self, const pd_run *run, bool loader, double *asked_us, double *percent) {
  sums all;
  const bool by_loader = loader || is_input(run);
  *asked_us = by_loader ? asked_of_loader(self) : self->asked_us;
  if (!self->row_count || (loader && !is_mixed(self, run)) || !(*asked_us > 0) || !add_up(self, run, &all))
    return false;
  *percent = 100 * ((by_loader ? all.loader_us : all.measured_us) / *asked_us - 1);
  return true;
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

static bool effect_of(const truth_rounds *of, resample_ratio *out, double *with_us, double *without_us) {
  const uint64_t count = of->count;
  double *values = malloc(3 * count * sizeof *values);
  statistics with_spread, without_spread;
  if (!values) return false;
  double *without = values + count, *ratios = values + 2 * count;
  for (uint64_t i = 0; i < count; i++) {
    values[i] = of->at[i].with_ns;
    without[i] = of->at[i].without_ns;
    ratios[i] = log(values[i] / without[i]);
  }
  const bool ok = statistics_make(values, count, &with_spread) && statistics_make(without, count, &without_spread) &&
                  resample_paired(ratios, count, 1, out);
  if (ok) {
    *with_us = 1e-3 * with_spread.median;
    *without_us = 1e-3 * without_spread.median;
  }
  free(values);
  return ok;
}

static bool put_effect(const truth_rounds *of, bool is_baseline, FILE *out) {
  resample_ratio effect;
  double with_us, without_us;
  if (!of->count) {
    put_key(out, "effect");
    fputs("null", out);
    put_key(out, "path");
    fputs("null", out);
    return true;
  }
  if (!effect_of(of, &effect, &with_us, &without_us)) return false;
  put_key(out, "effect");
  fprintf(
      out,
      "{\n    \"step_us\": %.3f,\n    \"control_step_us\": %.3f,\n    \"us_per_step\": %.3f,\n    \"share\": %.5f,\n"
      "    \"share_low\": %.5f,\n    \"share_high\": %.5f,\n    \"rounds\": [",
      with_us, without_us, without_us * (effect.ratio - 1), 1 - 1 / effect.ratio, 1 - 1 / effect.low,
      1 - 1 / effect.high);
  for (uint64_t i = 0; i < of->count; i++)
    fprintf(out, "%s[%.3f, %.3f]", i ? ", " : "", 1e-3 * of->at[i].with_ns, 1e-3 * of->at[i].without_ns);
  fputs("]\n  }", out);
  put_key(out, "path");
  if (is_baseline || of->count >= TRUTH_MIN_ROUNDS)
    put_text(out, is_baseline ? "nothing injected" : path_of(of, &effect));
  else
    fputs("null", out);
  return true;
}

/* What the loader injects beside the scenario. */
static bool put_also(const truth_figures *self, const pd_run *run, const sums *all, FILE *out) {
  put_key(out, "also");
  fputs("[", out);
  bool ok = true;
  if (is_mixed(self, run)) {
    fputs("{\n  \"cause\": \"input_bound\"", out);
    put_number(out, "injected_us_per_step", all->wait_us);
    put_dial(asked_of_loader(self), all->loader_us, out);
    ok = put_effect(&self->input_rounds, false, out);
    fputs("\n  }", out);
  }
  fputs("]", out);
  return ok;
}

bool truth_figures_print(const truth_figures *self, const pd_run *run, FILE *out) {
  sums all;
  if (!add_up(self, run, &all)) return false;
  fputs("{\n  \"format\": \"pdhost.truth/1\"", out);
  put_key(out, "scenario");
  put_text(out, run->scenario);
  put_key(out, "cause");
  put_text(out, run->bottleneck);
  put_key(out, "steps");
  fprintf(out, "%" PRIu64, self->row_count);
  put_number(out, "step_us", all.step_us);
  put_number(out, "injected_us_per_step", all.injected_us);
  put_number(out, "count_per_step", all.count);
  put_dials(self, run, &all, out);
  if (!put_effect(&self->rounds, is_baseline(run), out)) return false;
  if (!put_also(self, run, &all, out)) return false;
  put_settings(out, run);
  fputs("}\n", out);
  return true;
}
