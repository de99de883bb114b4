/* See quick_stats.h. */
#include "quick_stats.h"

#include "../lib/energy.h"
#include "figures.h"
#include "verdict_text.h"

#include <pdhost/loss_names.h>
#include <pdhost/quantity.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURE_ROOM = 48 };

static const char *yes(uint32_t flag) { return flag ? "true" : "false"; }

enum { VALUE_COLUMN = 26 };

static void line(text *out, const char *name, const char *value) { text_format(out, "  %-22s  %s\n", name, value); }

/* The same for sentences: what does not fit goes on below the value. */
static void long_line(text *out, const char *name, const char *value, size_t columns) {
  const size_t at = out->length;
  text_wrap(out, value, columns, VALUE_COLUMN);
  if (!out->failed && out->length > at + VALUE_COLUMN) memcpy(out->data + at + 2, name, strlen(name));
}

/* A mean of the script's, in its unit, and what it is of. */
static void average(text *out, const char *name, double value_s, uint64_t steps, int digits, size_t columns) {
  char figure[FIGURE_ROOM], scaled[FIGURE_ROOM], sentence[160];
  figures_write(figure, sizeof figure, value_s, digits, FIGURES_MOST_DECIMALS);
  pd_text_time(scaled, sizeof scaled, value_s * 1e9);
  snprintf(sentence, sizeof sentence, "%s (%s; mean of all %" PRIu64 " steps of the loop)", figure, scaled, steps);
  long_line(out, name, sentence, columns);
}

/* Digits of the int64 nanosecond field at `offset`, over all steps or the active ones. */
static int digits_of(text *out, const pd_analysis *analysis, const pd_summary *summary, size_t offset,
                     bool active_only) {
  const uint64_t count = summary->steps_all.count;
  double *values = malloc((count + 1) * sizeof *values);
  uint64_t used = 0;
  uint32_t digits = FIGURES_DIGITS_UNKNOWN;
  if (!values) {
    out->failed = true;
    return FIGURES_DIGITS_UNKNOWN;
  }
  for (uint64_t i = 0; i < count; i++) {
    const pd_step_stats *step = PD_AT(pd_step_stats, &summary->steps_all, i);
    if (!active_only || step->phase == PD_PHASE_ACTIVE)
      values[used++] = (double)*(const int64_t *)(const void *)((const char *)step + offset) * 1e-9;
  }
  if (analysis && PD_HAS(pd_analysis, analysis, digits)) digits = analysis->digits(analysis, values, used);
  free(values);
  return (int)digits;
}

/* Where there is no room for all of them, the mean and the tenth parts are left out. */
static void spread_row(text *out, const char *name, const pd_spread *spread, int digits, bool all) {
  const double whole[] = {spread->median, spread->mean, spread->min, spread->p10, spread->p90, spread->max};
  const double narrow[] = {spread->median, spread->min, spread->max};
  text_format(out, "  %-18s", name);
  for (size_t i = 0; i < (all ? 6 : 3); i++) {
    char figure[FIGURE_ROOM];
    figures_write(figure, sizeof figure, (all ? whole : narrow)[i] * 1e3, digits, FIGURES_MOST_DECIMALS);
    text_format(out, " %9s", figure);
  }
  text_add(out, "\n");
}

/* In a loop that is shorter, the last look of NVML's counter at either end shows. */
#define ENERGY_SHORT_S 10

/* The time from the first step to the end of the last. */
static double loop_seconds(const pd_summary *summary) {
  double ns = 0;
  for (uint64_t i = 0; i < summary->steps_all.count; i++)
    ns += (double)PD_AT(pd_step_stats, &summary->steps_all, i)->batch_cost_ns;
  return 1e-9 * ns;
}

static void energy(text *out, const pd_summary *summary, size_t columns) {
  char sentence[768];
  energy_figure all[ENERGY_FIGURES];
  energy_figures(summary, all);
  if (!isnan(all[ENERGY_GPU].joules)) {
    snprintf(sentence, sizeof sentence, "%.3g J per step, %.3g J per sample, of the whole GPU, by NVML's counter%s",
             all[ENERGY_GPU + 1].joules, all[ENERGY_GPU + 2].joules,
             loop_seconds(summary) < ENERGY_SHORT_S ? ", which moves only some times a second: take a longer loop"
                                                    : "");
    long_line(out, "energy", sentence, columns);
  }
  if (!isnan(all[ENERGY_PROCESSORS].joules)) {
    snprintf(sentence, sizeof sentence, "%.3g J per step, %.3g J per sample, of the processors, by powercap",
             all[ENERGY_PROCESSORS + 1].joules, all[ENERGY_PROCESSORS + 2].joules);
    long_line(out, "processors' energy", sentence, columns);
  } else if (PD_HAS(pd_summary, summary, processor_energy_note) && summary->processor_energy_note) {
    snprintf(sentence, sizeof sentence,
             "not known: %s; run as root, or have root give this user the right to read that file",
             summary->processor_energy_note);
    long_line(out, "processors' energy", sentence, columns);
  }
}

static void dialled(text *out, const pd_summary *summary, size_t columns) {
  char sentence[160];
  if (!PD_HAS(pd_summary, summary, dial_injected_us) || !(summary->dial_asked_us > 0)) return;
  const double asked_us = summary->dial_asked_us, off = 100 * (summary->dial_injected_us / asked_us - 1);
  snprintf(sentence, sizeof sentence, "%.0f us a step asked for, %.0f us injected, %.1f %% %s", asked_us,
           summary->dial_injected_us, fabs(off), off < 0 ? "less" : "more");
  long_line(out, "dial", sentence, columns);
}

static void active_steps(text *out, const pd_analysis *analysis, const pd_summary *summary, size_t columns) {
  char figure[FIGURE_ROOM], sentence[96];
  const bool all = columns >= 80;
  int digits = digits_of(out, analysis, summary, offsetof(pd_step_stats, batch_cost_ns), true);
  uint64_t first = 0, last = 0, count = 0;
  for (uint64_t i = 0; i < summary->steps_all.count; i++) {
    const pd_step_stats *step = PD_AT(pd_step_stats, &summary->steps_all, i);
    if (step->phase != PD_PHASE_ACTIVE) continue;
    if (!count++) first = step->index;
    last = step->index;
  }
  if (!count) {
    text_add(out, "\nNo step was active: there are no figures of active steps.\n");
    return;
  }
  text_format(out, "\nActive steps, in ms: %" PRIu64 " of steps %" PRIu64 "..%" PRIu64 ", %" PRIu64 " window%s\n",
              count, first, last, summary->windows, summary->windows == 1 ? "" : "s");
  text_format(out, "  %-18s", "");
  if (all)
    text_format(out, " %9s %9s %9s %9s %9s %9s\n", "median", "mean", "min", "p10", "p90", "max");
  else
    text_format(out, " %9s %9s %9s\n", "median", "min", "max");
  spread_row(out, "after the wait", &summary->step_time_s,
             digits_of(out, analysis, summary, offsetof(pd_step_stats, step_time_ns), true), all);
  spread_row(out, "data wait", &summary->data_wait_s,
             digits_of(out, analysis, summary, offsetof(pd_step_stats, data_wait_ns), true), all);
  spread_row(out, "whole step", &summary->batch_cost_s, digits, all);
  figures_write(figure, sizeof figure, summary->steps_per_s, digits, FIGURES_MOST_DECIMALS);
  line(out, "steps_per_s", figure);
  if (!isnan(summary->samples_per_s)) {
    figures_write(figure, sizeof figure, summary->samples_per_s, digits, FIGURES_MOST_DECIMALS);
    line(out, "samples_per_s", figure);
  }
  pd_text_time(figure, sizeof figure, summary->first_batch_s * 1e9);
  line(out, "first batch", figure);
  pd_text_bytes(figure, sizeof figure, (double)summary->peak_allocated_bytes);
  snprintf(sentence, sizeof sentence, "%s allocated, ", figure);
  pd_text_bytes(figure, sizeof figure, (double)summary->peak_reserved_bytes);
  const size_t used = strlen(sentence);
  snprintf(sentence + used, sizeof sentence - used, "%s reserved", figure);
  long_line(out, "peak device memory", sentence, columns);
  energy(out, summary, columns);
  dialled(out, summary, columns);
}

static void moved(text *out, double ns) {
  char figure[FIGURE_ROOM];
  pd_text_time(figure, sizeof figure, ns);
  text_format(out, "  %-22s  by up to %s\n", "moved", figure);
}

static void losses(text *out, const pd_summary *summary, size_t columns) {
  bool any = false;
  for (pd_loss i = 0; i < PD_LOSS_COUNT; i++) {
    if (!summary->lost[i]) continue;
    char sentence[128];
    snprintf(sentence, sizeof sentence, "%" PRIu64 " %s", summary->lost[i], pd_loss_text(i));
    long_line(out, any ? "" : "lost", sentence, columns);
    any = true;
  }
  if (!any) line(out, "lost", "nothing");
  if (PD_HAS(pd_summary, summary, corrected_ns) && summary->corrected_ns) moved(out, (double)summary->corrected_ns);
}

static void measurement(text *out, const pd_run *run, const pd_summary *summary, size_t columns) {
  static const char *const modes[] = {"off: no device records", "full: every launch with its device record",
                                      "events: device times by event pairs"};
  char sentence[192], active[24];
  text_add(out, "\nHow it was measured\n");
  long_line(out, "timing",
            summary->sync_note ? summary->sync_note
            : run->sync_timing ? "between two device synchronisations"
                               : "device time of the pipelined step",
            columns);
  long_line(out, "profile", summary->profile < sizeof modes / sizeof *modes ? modes[summary->profile] : "unknown",
            columns);
  if (summary->profile_note) long_line(out, "why", summary->profile_note, columns);
  snprintf(sentence, sizeof sentence, "%.2f %% of launches have their device record", 100 * summary->coverage);
  long_line(out, "coverage", isnan(summary->coverage) ? "n/a: no device records" : sentence, columns);
  losses(out, summary, columns);
  if (PD_HAS(pd_summary, summary, paused_s) && summary->pauses) {
    snprintf(sentence, sizeof sentence, "%" PRIu64 " time%s, %.3f s in all, which are in no figure", summary->pauses,
             summary->pauses == 1 ? "" : "s", summary->paused_s);
    long_line(out, "paused", sentence, columns);
  }
  snprintf(active, sizeof active, "%" PRIu64, run->active);
  snprintf(sentence, sizeof sentence,
           "skip_first %" PRIu64 ", wait %" PRIu64 ", warmup %" PRIu64 ", active %s, repeat %" PRIu64, run->skip_first,
           run->wait, run->warmup, run->active == UINT64_MAX ? "all" : active, run->repeat);
  long_line(out, "schedule", sentence, columns);
  snprintf(sentence, sizeof sentence, "%" PRIu64, run->seed);
  line(out, "seed", sentence);
  snprintf(sentence, sizeof sentence, "%" PRIu64 " done in the loop", summary->steps);
  line(out, "steps", sentence);
  long_line(out, "device", run->device && run->device->name ? run->device->name : run->device_name, columns);
  if (run->device && run->device->versions) long_line(out, "versions", run->device->versions, columns);
  if (run->fallback) long_line(out, "not a GPU", run->fallback, columns);
  snprintf(sentence, sizeof sentence, "%s, sources %s", run->pdhost_version,
           PD_HAS(pd_run, run, source_id) && run->source_id ? run->source_id : "unknown");
  long_line(out, "pdhost", sentence, columns);
  text_format(out, "  %-22s  ", "command");
  verdict_command(out, run->command_line, columns, VALUE_COLUMN);
}

static void interrupted(text *out, const pd_summary *summary, size_t columns) {
  text sentence = {0};
  text_format(&sentence, "The run %s%s%s: the figures cover the %" PRIu64 " step%s done.",
              summary->outcome == PD_RUN_INTERRUPTED ? "was interrupted" : "failed", summary->reason ? ": " : "",
              summary->reason ? summary->reason : "", summary->steps, summary->steps == 1 ? "" : "s");
  if (sentence.failed)
    out->failed = true;
  else
    text_wrap(out, sentence.data, columns, 0);
  text_free(&sentence);
}

/* Where the run's batches stay, made once; NULL: each is loaded. */
static const char *resident(const pd_run *run) {
  for (uint64_t i = 0; i < run->settings.count; i++) {
    const pd_setting *at = PD_AT(pd_setting, &run->settings, i);
    if (!strcmp(at->section, "data") && !strcmp(at->key, "resident") && strcmp(at->value, "none") != 0)
      return at->value;
  }
  return NULL;
}

/* What a program that pdhost did not run itself does not say. */
static void loop_facts(text *out, const pd_run *run, size_t columns) {
  char number[FIGURE_ROOM];
  line(out, "scenario", run->scenario);
  snprintf(number, sizeof number, "%" PRId64, run->batch_size);
  line(out, "batch_size", number);
  snprintf(number, sizeof number, "%" PRId64, run->num_workers);
  line(out, "num_workers", number);
  const char *where = resident(run);
  if (where) {
    char sentence[96];
    snprintf(sentence, sizeof sentence, "on the %s: made before the loop, by no worker", where);
    long_line(out, "resident data", sentence, columns);
  }
  line(out, "pin_memory", yes(run->pin_memory));
  line(out, "amp", yes(run->amp));
}

void quick_stats_write(text *out, const pd_analysis *analysis, const pd_run *run, const pd_summary *summary,
                       size_t columns) {
  text_bold(out, "Quick stats");
  text_add(out, "\n");
  if (summary->outcome != PD_RUN_COMPLETE) interrupted(out, summary, columns);
  if (run->batch_size)
    loop_facts(out, run, columns);
  else
    line(out, "program", run->scenario);
  average(out, "avg_step_time_s", summary->avg_step_time_s, summary->steps,
          digits_of(out, analysis, summary, offsetof(pd_step_stats, step_time_ns), false), columns);
  average(out, "avg_dataloader_wait_s", summary->avg_dataloader_wait_s, summary->steps,
          digits_of(out, analysis, summary, offsetof(pd_step_stats, data_wait_ns), false), columns);
  line(out, "trace_dir", run->trace_dir ? run->trace_dir : "");
  active_steps(out, analysis, summary, columns);
  measurement(out, run, summary, columns);
  text_add(out, "\n");
}
