/* See quick_stats.h. */
#include "quick_stats.h"

#include "cells.h"
#include "figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURE_ROOM = 48 };

static const char *yes(uint32_t flag) { return flag ? "true" : "false"; }

enum { VALUE_COLUMN = 26, LINE_COLUMNS = 80 };

static void line(text *out, const char *name, const char *value) { text_format(out, "  %-22s  %s\n", name, value); }

/* The same for sentences: what does not fit goes on below the value. */
static void long_line(text *out, const char *name, const char *value) {
  const size_t at = out->length;
  text_wrap(out, value, LINE_COLUMNS, VALUE_COLUMN);
  if (!out->failed && out->length > at + VALUE_COLUMN) memcpy(out->data + at + 2, name, strlen(name));
}

static void seconds(text *out, const char *name, double value_s, int digits) {
  char figure[FIGURE_ROOM];
  figures_write(figure, sizeof figure, value_s, digits, FIGURES_MOST_DECIMALS);
  line(out, name, figure);
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

static void spread_row(text *out, const char *name, const pd_spread *spread, int digits) {
  const double values[] = {spread->median, spread->mean, spread->min, spread->p10, spread->p90, spread->max};
  text_format(out, "  %-18s", name);
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    char figure[FIGURE_ROOM];
    figures_write(figure, sizeof figure, values[i] * 1e3, digits, FIGURES_MOST_DECIMALS);
    text_format(out, " %9s", figure);
  }
  text_add(out, "\n");
}

static void active_steps(text *out, const pd_analysis *analysis, const pd_summary *summary) {
  char figure[FIGURE_ROOM], reserved[FIGURE_ROOM];
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
  text_format(out, "  %-18s %9s %9s %9s %9s %9s %9s\n", "", "median", "mean", "min", "p10", "p90", "max");
  spread_row(out, "step time", &summary->step_time_s,
             digits_of(out, analysis, summary, offsetof(pd_step_stats, step_time_ns), true));
  spread_row(out, "data wait", &summary->data_wait_s,
             digits_of(out, analysis, summary, offsetof(pd_step_stats, data_wait_ns), true));
  spread_row(out, "whole iteration", &summary->batch_cost_s, digits);
  figures_write(figure, sizeof figure, summary->steps_per_s, digits, FIGURES_MOST_DECIMALS);
  line(out, "steps_per_s", figure);
  figures_write(figure, sizeof figure, summary->samples_per_s, digits, FIGURES_MOST_DECIMALS);
  line(out, "samples_per_s", figure);
  seconds(out, "first_batch_s", summary->first_batch_s, 3);
  cell_write_bytes(figure, sizeof figure, (double)summary->peak_allocated_bytes);
  cell_write_bytes(reserved, sizeof reserved, (double)summary->peak_reserved_bytes);
  text_format(out, "  %-22s  %s allocated, %s reserved\n", "peak device memory", figure, reserved);
}

static void losses(text *out, const pd_summary *summary) {
  static const struct {
    uint32_t loss;
    const char *what;
  } names[] = {
#define PD_X(name, value, text) {value, text},
      PD_LOSS_MAP(PD_X)
#undef PD_X
  };
  bool any = false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    if (!summary->lost[names[i].loss]) continue;
    text_format(out, "  %-22s  %" PRIu64 " %s\n", any ? "" : "lost", summary->lost[names[i].loss], names[i].what);
    any = true;
  }
  if (!any) line(out, "lost", "nothing");
  if (PD_HAS(pd_summary, summary, corrected_ns) && summary->corrected_ns)
    text_format(out, "  %-22s  by up to %.3f us\n", "moved", (double)summary->corrected_ns * 1e-3);
}

static void measurement(text *out, const pd_run *run, const pd_summary *summary) {
  static const char *const modes[] = {"off: no device records", "full: every launch with its device record",
                                      "events: device times by event pairs"};
  char sentence[192], active[24];
  text_add(out, "\nHow it was measured\n");
  long_line(out, "step time",
            summary->sync_note ? summary->sync_note
            : run->sync_timing ? "between two device synchronisations"
                               : "device time of the pipelined step");
  line(out, "profile", summary->profile < sizeof modes / sizeof *modes ? modes[summary->profile] : "unknown");
  if (summary->profile_note) long_line(out, "why", summary->profile_note);
  snprintf(sentence, sizeof sentence, "%.2f %% of launches have their device record", 100 * summary->coverage);
  long_line(out, "coverage", isnan(summary->coverage) ? "n/a: no device records" : sentence);
  losses(out, summary);
  snprintf(active, sizeof active, "%" PRIu64, run->active);
  snprintf(sentence, sizeof sentence,
           "skip_first %" PRIu64 ", wait %" PRIu64 ", warmup %" PRIu64 ", active %s, repeat %" PRIu64, run->skip_first,
           run->wait, run->warmup, run->active == UINT64_MAX ? "all" : active, run->repeat);
  long_line(out, "schedule", sentence);
  snprintf(sentence, sizeof sentence, "%" PRIu64, run->seed);
  line(out, "seed", sentence);
  snprintf(sentence, sizeof sentence, "%" PRIu64 " done in the loop", summary->steps);
  line(out, "steps", sentence);
  long_line(out, "device", run->device && run->device->name ? run->device->name : run->device_name);
  if (run->device && run->device->versions) long_line(out, "versions", run->device->versions);
  if (run->fallback) long_line(out, "not a GPU", run->fallback);
}

static void interrupted(text *out, const pd_summary *summary) {
  text sentence = {0};
  text_format(&sentence, "The run %s%s%s: the figures cover the %" PRIu64 " step%s done.",
              summary->outcome == PD_RUN_INTERRUPTED ? "was interrupted" : "failed", summary->reason ? ": " : "",
              summary->reason ? summary->reason : "", summary->steps, summary->steps == 1 ? "" : "s");
  if (sentence.failed)
    out->failed = true;
  else
    text_wrap(out, sentence.data, LINE_COLUMNS, 0);
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

void quick_stats_write(text *out, const pd_analysis *analysis, const pd_run *run, const pd_summary *summary) {
  char number[FIGURE_ROOM];
  text_bold(out, "Quick stats");
  text_add(out, "\n");
  if (summary->outcome != PD_RUN_COMPLETE) interrupted(out, summary);
  line(out, "scenario", run->scenario);
  snprintf(number, sizeof number, "%" PRId64, run->batch_size);
  line(out, "batch_size", number);
  snprintf(number, sizeof number, "%" PRId64, run->num_workers);
  line(out, "num_workers", number);
  const char *where = resident(run);
  if (where) text_format(out, "  %-22s  on the %s: made before the loop, by no worker\n", "resident data", where);
  line(out, "pin_memory", yes(run->pin_memory));
  line(out, "amp", yes(run->amp));
  seconds(out, "avg_step_time_s", summary->avg_step_time_s,
          digits_of(out, analysis, summary, offsetof(pd_step_stats, step_time_ns), false));
  seconds(out, "avg_dataloader_wait_s", summary->avg_dataloader_wait_s,
          digits_of(out, analysis, summary, offsetof(pd_step_stats, data_wait_ns), false));
  line(out, "trace_dir", run->trace_dir ? run->trace_dir : "");
  active_steps(out, analysis, summary);
  measurement(out, run, summary);
  text_add(out, "\n");
}
