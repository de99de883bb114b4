/* See trial.h. */
#include "trial.h"

#include "base/child.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "conform/check_folder.h"
#include "run/run.h"

#include <pdhost/quantity.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { TRIAL_SECONDS = 30, SHORT_STEPS = 1, LONG_STEPS = 5, WARM_UP_STEPS = 1, FIGURE_ROOM = 48 };

typedef struct trial {
  const config *settings;
  const char *folder;
  uint64_t active; /* steps to record */
  double seconds, bytes, peak_bytes;
} trial;

/* The copy that the child has of the configuration: few steps, and every file below the current folder. */
static void shorten(config *self, uint64_t active) {
  self->device_auto = false; /* decided, and loading it again would plan again */
  self->plan = (schedule){.active = active, .repeat = 1};
  self->run.warmup_steps = WARM_UP_STEPS;
  self->run.max_steps = 0;
  self->run.trace_dir = "traces";
  self->quiet = true;
  for (uint32_t i = 0; i < self->sink_count; i++) {
    const pd_plugin *table = self->sinks[i].plugin->table;
    for (uint32_t k = 0; k < table->option_count; k++) {
      const pd_option *row = (const pd_option *)((const char *)table->options + (size_t)k * table->option_size);
      const char *path = NULL;
      if (row->type != PD_PATH) continue;
      /* NOLINTNEXTLINE(performance-no-int-to-ptr): this process owns its copy, so that it may write there */
      char *to = (char *)(uintptr_t)self->sinks[i].options + row->offset;
      memcpy(&path, to, sizeof path);
      if (!path || path[0] != '/') continue; /* lies below the current folder already */
      path = row->key;
      memcpy(to, &path, sizeof path);
    }
  }
}

/* In the child. */
static int body(void *user, int report) {
  const trial *self = user;
  struct rusage used;
  char said[128];
  const int silent = open("/dev/null", O_WRONLY | O_CLOEXEC);
  if (silent >= 0) (void)dup2(silent, STDERR_FILENO);
  if (!check_folder_empty(self->folder)) return CODE_OUTPUT;
  /* NOLINTNEXTLINE(performance-no-int-to-ptr): this process owns its copy, so that it may change it */
  config *copy = (config *)(uintptr_t)self->settings;
  shorten(copy, self->active);
  const double from = monotonic_s();
  const int code = run_execute(copy);
  const double seconds = monotonic_s() - from;
  getrusage(RUSAGE_SELF, &used);
  const int bytes = snprintf(said, sizeof said, "%.9f %llu %ld", seconds,
                             (unsigned long long)check_folder_bytes(self->folder), used.ru_maxrss);
  return write(report, said, (size_t)bytes) == bytes ? code : CODE_OUTPUT;
}

/* False: `why` says why not. */
static bool try_out(trial *self, char *why, size_t room) {
  child_result result;
  if (!child_call(body, self, TRIAL_SECONDS, &result)) {
    snprintf(why, room, "no child process could be made");
    return false;
  }
  if (result.timed_out) {
    snprintf(why, room, "%llu steps take longer than %d s", (unsigned long long)self->active + WARM_UP_STEPS,
             TRIAL_SECONDS);
    return false;
  }
  char *end = result.text;
  self->seconds = strtod(end, &end);
  self->bytes = strtod(end, &end);
  self->peak_bytes = 1024 * strtod(end, &end);
  if ((result.exit_code == CODE_DONE || result.exit_code == CODE_UNTRUSTED) && self->seconds > 0) return true;
  snprintf(why, room, "a trial of %llu steps failed; run it to see why",
           (unsigned long long)self->active + WARM_UP_STEPS);
  return false;
}

static double per_step(double few, double many) { return many > few ? (many - few) / (LONG_STEPS - SHORT_STEPS) : 0; }

/* Two lines of time and disk; without an end, of a step. */
static void print(const config *settings, const trial *few, const trial *many) {
  char step[FIGURE_ROOM], whole[FIGURE_ROOM], bytes[FIGURE_ROOM], each[FIGURE_ROOM], peak[FIGURE_ROOM];
  const double step_s = per_step(few->seconds, many->seconds), step_bytes = per_step(few->bytes, many->bytes);
  const schedule *plan = &settings->plan;
  const uint64_t most = (uint64_t)settings->run.max_steps;
  uint64_t total = schedule_total(plan);
  if (most && (total == SCHEDULE_FOREVER || total > most)) total = most;
  const bool ends = total != SCHEDULE_FOREVER;
  const double windows = ends && plan->repeat ? (double)plan->repeat : 1;
  const double recorded = ends && plan->active != SCHEDULE_FOREVER ? windows * (double)plan->active : (double)total;
  const double start_s = few->seconds - (SHORT_STEPS + WARM_UP_STEPS) * step_s;
  if (step_s > 0)
    pd_text_time(step, sizeof step, 1e9 * step_s);
  else
    snprintf(step, sizeof step, "too little to tell");
  pd_text_time(whole, sizeof whole,
               1e9 * ((start_s > 0 ? start_s : 0) + step_s * ((double)settings->run.warmup_steps + (double)total)));
  pd_text_bytes(each, sizeof each, step_bytes);
  const double fixed = few->bytes - SHORT_STEPS * step_bytes;
  pd_text_bytes(bytes, sizeof bytes, windows * (fixed > 0 ? fixed : 0) + step_bytes * recorded);
  pd_text_bytes(peak, sizeof peak, many->peak_bytes);
  if (ends)
    printf("%-10s about %s; a step takes %s\n%-10s about %s; a recorded step takes %s\n", "time", whole, step, "disk",
           bytes, each);
  else
    printf("%-10s about %s a step\n%-10s about %s a recorded step\n", "time", step, "disk", each);
  printf("%-10s %s of the host's memory in the trial\n", "peak", peak);
  printf(
      "%-10s from two trials, of %d and %d steps: good to a factor of 2, less\n%-10s sure where other programs run\n",
      "how sure", SHORT_STEPS + WARM_UP_STEPS, LONG_STEPS + WARM_UP_STEPS, "");
}

void trial_print(const config *settings) {
  char parent[PATH_MAX], folder[PATH_MAX + 8], why[128] = "no folder for a trial can be made in TMPDIR";
  const char *place = getenv("TMPDIR");
  snprintf(parent, sizeof parent, "%s/pdhost-trial.XXXXXX", place && place[0] == '/' ? place : "/tmp");
  const bool has_folder = mkdtemp(parent) != NULL;
  snprintf(folder, sizeof folder, "%s/run", parent);
  trial few = {.settings = settings, .folder = folder, .active = SHORT_STEPS};
  trial many = {.settings = settings, .folder = folder, .active = LONG_STEPS};
  fflush(stdout); /* the child would print it, too */
  if (has_folder && try_out(&few, why, sizeof why) && try_out(&many, why, sizeof why))
    print(settings, &few, &many);
  else
    printf("%-10s not estimated: %s\n", "time, disk", why);
  if (has_folder) check_folder_remove(parent);
}
