/* See tune.h. */
#include "tune.h"

#include "tune_report.h"
#include "tuned_file.h"
#include "work_folder.h"

#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"
#include "config/cli_frame.h"
#include "run/ranks/rank_launch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { FILE_BYTES = 256 };
/* A trial takes so long at most; a shorter rest of the budget tells nothing. */
#define TRIAL_S 15.0
#define LEAST_TRIAL_S 1.0
/* What a trial leaves unsure gets one up to this many times as long, if the budget has it left in the end. */
#define AGAIN 3.0
/* A look before a trial: what is no faster in it gets no trial, and what is surely so much faster needs none, so that
 * the budget is enough for all cures. */
#define LOOK_S 3.0
#define CLEARLY_FASTER 0.95

typedef struct tune_options {
  double budget_s;
  const char *output; /* NULL: of the scenario's name */
  args_format format;
  bool help;
} tune_options;

typedef struct tuner {
  const tune_options *options;
  const cli_args *args;
  double until_s;
  tune_path path;
  predictions begun; /* of the run as it began */
  ab_trial whole;
  const char *folder; /* for its runs */
  const char *end;
  char file[FILE_BYTES];
} tuner;

static bool take_output(void *user, const args_option *row, const char *value, error *err) {
  (void)row;
  (void)err;
  return (((tune_options *)user)->output = value)[0] != '\0' && strlen(value) < FILE_BYTES;
}

static const args_option rows[] = {
    {.name = "--budget",
     .value = ARGS_REQUIRED,
     .argument = "TIME",
     .take = args_take_seconds,
     .code = offsetof(tune_options, budget_s),
     .allowed = "a time as 90s, 2m or 1h, up to a day",
     .help = "end after this time, with what is kept by then (2m)"},
    {.name = "--output",
     .value = ARGS_REQUIRED,
     .argument = "FILE.ini",
     .take = take_output,
     .allowed = "a file",
     .offer = ARGS_OFFER_FILE,
     .help = "write the configuration to this file (SCENARIO_tuned.ini); an existing file is never overwritten"},
    ARGS_FORMAT_ROW(tune_options, format, "text|json", "text, json"),
    ARGS_HELP_ROW(tune_options, help)};

static int tune_main(int argc, char **argv);

const args_command tune_command = {
    .name = "tune",
    .summary = "try what makes a run faster, and write a configuration of it",
    .usage = "[NAME] [-c FILE] [options]",
    .description =
        "Records a window, tries the cure that is predicted to save most, in turns with the run as it is (as pdhost ab "
        "--loop does), and keeps it if the measurement says FASTER and the saving is at least 1 %. What is predicted "
        "to save less is tried last. A trial takes 15 seconds or a fifth of the budget at most. With a budget of 30 "
        "seconds or more, one of 3 seconds comes first: a cure that is not faster in it, or whose saving is surely "
        "above 5 %, gets no more time. Then it records again, with what is kept, and goes on until no cure is left; "
        "what was not sure is measured longer if there is time. In the end all kept settings together are measured "
        "against the original run; if that does not say FASTER, only the first is kept. Settings that change the "
        "arithmetic, such as train.amp, are never tried.\n\n"
        "The exit code is 0 when there is a report, that of the run when it fails, 8 when the file is there already, "
        "128+n when signal n ended it.",
    .options = rows,
    .option_count = sizeof rows / sizeof rows[0],
    .takes_run_options = true,
    .examples = "pdhost tune tiny_ops\n"
                "pdhost tune -c my.ini --budget 5m --output fast.ini",
    .words = ARGS_OFFER_CONFIG,
    .main = tune_main};

/* ---- the search ---- */

static double left_s(const tuner *self) { return self->until_s - monotonic_s(); }

static double longest_s(const tuner *self) { return fmin(TRIAL_S, fmax(LOOK_S, self->options->budget_s / 5)); }

/* What is left for trials. The time of one is for the last, of all that is kept: one alone has been measured already.
 */
static double for_trials(const tuner *self) { return left_s(self) - (self->path.kept ? longest_s(self) : 0); }

/* How long a trial may take: a fifth of the budget, so that one that tells nothing leaves time for the others. */
static double for_a_trial(const tuner *self) {
  const double time_s = fmin(longest_s(self), for_trials(self));
  return self->path.count ? time_s : fmax(time_s, LEAST_TRIAL_S); /* what recording took does not leave it with none */
}

/* A window of the run with all that is kept. The first one is kept for the report. */
static bool record(tuner *self, predictions *out, error *err) {
  char folder[WORK_FOLDER_BYTES + 32];
  snprintf(folder, sizeof folder, "%s/%u", self->folder, self->path.kept);
  progress_enter("recording a window", NULL, 0);
  progress_note("%.0f s left", left_s(self));
  return predictions_record(self->args, self->path.settings, folder, "tune", out, err);
}

static bool is_settled(const ab_trial *look) {
  const resample_ratio *of = &look->of.of;
  return look->is_measured && (of->ratio >= 1 || (look->verdict == OUTCOME_FASTER && of->high < CLEARLY_FASTER));
}

static bool try_one(tuner *self, tune_step *step, error *err) {
  char with[TUNE_SETTINGS], phase[TUNE_TEXT + 16];
  (void)tune_path_with(&self->path, step->settings, with);
  const char *const texts[2] = {self->path.settings, with};
  snprintf(phase, sizeof phase, "trying %s", step->settings);
  progress_enter(phase, "step", 0);
  bool settled = false;
  if (for_a_trial(self) >= 2 * LOOK_S) {
    if (!ab_trial_loops(self->args, texts, TUNE_LEAST, LOOK_S, &step->got, err)) return false;
    settled = is_settled(&step->got);
  }
  if (!settled && !ab_trial_loops(self->args, texts, TUNE_LEAST, for_a_trial(self), &step->got, err)) return false;
  tune_path_add(&self->path, step);
  return true;
}

/* Longer trials of what was unsure, until one is kept. */
static bool try_again(tuner *self, error *err) {
  tune_step *step;
  const uint32_t kept = self->path.kept;
  while (self->path.kept == kept && (step = tune_path_unsure(&self->path))) {
    char with[TUNE_SETTINGS];
    ab_trial got;
    const double time_s = fmin(AGAIN * longest_s(self), for_trials(self));
    if (time_s <= longest_s(self)) {
      self->end = "the budget is used up";
      return true;
    }
    (void)tune_path_with(&self->path, step->settings, with);
    const char *const texts[2] = {self->path.settings, with};
    progress_enter("trying what was not sure", "step", 0);
    if (!ab_trial_loops(self->args, texts, TUNE_LEAST, time_s, &got, err)) return false;
    step->again = true;
    if (got.is_measured) tune_path_settle(&self->path, step, &got);
  }
  return true;
}

/* Tries cures of one window until one is kept; `more`: one was. */
static bool try_until_kept(tuner *self, const predictions *of, bool *more, error *err) {
  tune_step step;
  const uint32_t kept = self->path.kept;
  self->end = "nothing is left to try";
  *more = false;
  while (self->path.kept == kept && tune_path_next(&self->path, of, &step)) {
    if (for_a_trial(self) < LEAST_TRIAL_S) {
      self->end = "the budget is used up";
      return true;
    }
    if (!try_one(self, &step, err)) return false;
  }
  if (!try_again(self, err)) return false;
  *more = self->path.kept > kept;
  return true;
}

/* All that is kept against the run as it began; if that is not surely faster, only the first, which is. */
static bool confirm(tuner *self, error *err) {
  const char *const texts[2] = {"", self->path.settings};
  ab_trial all;
  for (uint32_t i = 0; i < self->path.count; i++)
    if (self->path.steps[i].kept) self->whole = self->path.steps[i].got;
  if (self->path.kept < 2) return true;
  progress_enter("measuring all that is kept", "step", 0);
  const double time_s = fmax(fmin(AGAIN * longest_s(self), left_s(self)), LEAST_TRIAL_S);
  if (!ab_trial_loops(self->args, texts, TUNE_LEAST, time_s, &all, err)) return false;
  self->whole = all;
  if (all.is_measured && all.verdict == OUTCOME_FASTER) return true;
  self->whole = tune_path_keep_first(&self->path)->got;
  self->end = "all that was kept, together, is not surely faster than what it began with: only the first is kept";
  return true;
}

static bool search(tuner *self, error *err) {
  predictions later = {.count = 0};
  bool more = false;
  bool ok = record(self, &self->begun, err) && try_until_kept(self, &self->begun, &more, err);
  while (ok && more) {
    predictions_free(&later);
    ok = record(self, &later, err) && try_until_kept(self, &later, &more, err);
  }
  predictions_free(&later);
  return ok && confirm(self, err);
}

/* ---- the whole ---- */

static bool name_file(tuner *self) {
  if (self->options->output)
    snprintf(self->file, sizeof self->file, "%s", self->options->output);
  else
    snprintf(self->file, sizeof self->file, "%s_tuned.ini", self->begun.scenario);
  return self->path.kept > 0;
}

static bool report(tuner *self, error *err) {
  const bool has_file = name_file(self);
  if (has_file && !tuned_file_write(self->file, self->args, &self->path, err)) return false;
  const tune_report of = {.path = &self->path,
                          .of = &self->begun,
                          .whole = self->path.kept ? &self->whole : NULL,
                          .end = self->end,
                          .file = has_file ? self->file : NULL,
                          .spent_s = self->options->budget_s - left_s(self),
                          .budget_s = self->options->budget_s};
  if (self->options->format != ARGS_JSON)
    tune_report_text(&of);
  else if (!tune_report_json(&of))
    error_no_memory(err);
  return !err->count;
}

static int tune(cli_args *args, const void *given, error *err) {
  const tune_options *options = given;
  static tuner self; /* large; the main thread's alone */
  char folder[WORK_FOLDER_BYTES];
  if (!rank_launch_is_alone("tune", err)) return err->exit_code;
  if (options->output && !tuned_file_check(options->output, err)) return err->exit_code;
  if (!work_folder_make("tune", folder, err)) return err->exit_code;
  self = (tuner){
      .options = options, .args = args, .until_s = monotonic_s() + options->budget_s, .folder = folder, .end = ""};
  signals_install(NULL, NULL);
  progress_begin("tune", args->quiet);
  const bool found = search(&self, err);
  progress_end();
  signals_restore();
  const bool ok = found && report(&self, err);
  predictions_free(&self.begun);
  work_folder_remove(folder);
  return ok ? CODE_DONE : err->exit_code;
}

static int tune_main(int argc, char **argv) {
  tune_options options = {.budget_s = 120};
  const cli_frame frame = {
      .options = &options, .help = &options.help, .only_run = true, .work = tune, .user = &options};
  return cli_frame_run(&tune_command, &frame, argc, argv);
}
