/* See rank_deal.h. */
#include "rank_deal.h"

#include "rank_launch.h"

#include "base/files.h"
#include "base/log.h"
#include "base/monotonic.h"
#include "base/progress_line.h"
#include "base/signals.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *const variables[] = {"OMPI_COMM_WORLD_RANK",
                                        "OMPI_COMM_WORLD_SIZE",
                                        "PMI_RANK",
                                        "PMI_SIZE",
                                        "SLURM_STEP_NUM_TASKS",
                                        "RANK",
                                        "WORLD_SIZE"};

static const char *text_of(const char *name) {
  const char *text = getenv(name);
  return text ? text : "";
}

static bool find_array(rank_deal *out) {
  const char *task = text_of("SLURM_ARRAY_TASK_ID"), *count = text_of("SLURM_ARRAY_TASK_COUNT"),
             *least = text_of("SLURM_ARRAY_TASK_MIN");
  if (!task[0] || !count[0] || !least[0] || strtoul(count, NULL, 10) < 2) return false;
  out->count = (uint32_t)strtoul(count, NULL, 10);
  out->rank = (uint32_t)((strtoul(task, NULL, 10) - strtoul(least, NULL, 10)) % out->count);
  out->is_array = true;
  return true;
}

rank_deal rank_deal_find(void) {
  static error ignored; /* large; the main thread's alone */
  rank_deal self = {.count = 1};
  pd_launch launch;
  const char *by = NULL;
  error_clear(&ignored);
  if (rank_launch_find(&launch, &by, &ignored) == PD_OK && by) {
    self.rank = launch.rank;
    self.count = launch.count;
    (void)snprintf(self.job, sizeof self.job, "%.40s%.16s.%.16s%.16s", text_of("PMIX_NAMESPACE"),
                   text_of("SLURM_JOB_ID"), text_of("SLURM_STEP_ID"), text_of("MASTER_PORT"));
  } else {
    (void)find_array(&self);
  }
  if (self.count > 1 && !self.is_array) log_set_rank(self.rank, self.count);
  for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++) (void)unsetenv(variables[i]);
  return self;
}

static void mark_path(const rank_deal *self, const char *folder, uint32_t rank, char path[PATH_MAX]) {
  (void)snprintf(path, PATH_MAX, "%s/dealt/%s.%u", folder, self->job, rank);
}

static bool leave_mark(const rank_deal *self, const char *folder) {
  char path[PATH_MAX], *temporary = NULL, why[512];
  (void)snprintf(path, sizeof path, "%s/dealt", folder);
  if (files_make_folder(path, why, sizeof why) != PD_OK) {
    log_line(PD_LOG_ERROR, NULL, "%s", why);
    return false;
  }
  mark_path(self, folder, self->rank, path);
  FILE *out = files_open_stream(path, &temporary);
  return out && files_end_stream(out, true, path, temporary);
}

/* Ranks of one launch begin within this many seconds. */
#define BEGIN_APART_NS INT64_C(60000000000)

static int64_t changed_ns(const struct stat *of) {
  return of->st_mtim.tv_sec * INT64_C(1000000000) + of->st_mtim.tv_nsec;
}

/* The age of marks is that by the clock of their file system: a mark of rank 0's own says what it is now. */
void rank_deal_begin(const rank_deal *self, const char *folder) {
  char path[PATH_MAX];
  struct stat now, about;
  if (self->is_array || self->count < 2) return;
  mark_path(self, folder, self->rank, path);
  const bool is_known = self->rank == 0 && leave_mark(self, folder) && stat(path, &now) == 0;
  (void)unlink(path);
  for (uint32_t i = 1; is_known && i < self->count; i++) {
    mark_path(self, folder, i, path);
    if (stat(path, &about) == 0 && changed_ns(&about) < changed_ns(&now) - BEGIN_APART_NS) (void)unlink(path);
  }
}

/* When the folder, or what lies in it, was changed last, by the clock of its file system. What changes beside it, in
 * "..", is not of this launch. */
static int64_t last_change(const char *folder) {
  struct stat about;
  int64_t newest = stat(folder, &about) == 0 ? changed_ns(&about) : 0;
  DIR *all = opendir(folder);
  for (const struct dirent *one; all && (one = readdir(all));)
    if (strcmp(one->d_name, "..") != 0 && fstatat(dirfd(all), one->d_name, &about, 0) == 0 &&
        changed_ns(&about) > newest)
      newest = changed_ns(&about);
  if (all) (void)closedir(all);
  return newest;
}

bool rank_deal_wait(const rank_deal *self, const char *folder, int64_t quiet_s) {
  const struct timespec nap = {.tv_nsec = 100000000};
  char path[PATH_MAX];
  int64_t newest = last_change(folder), since_ns = monotonic_ns();
  for (uint32_t i = 1; i < self->count; i++) {
    mark_path(self, folder, i, path);
    progress_note("waiting for rank %u", i);
    while (access(path, F_OK) != 0) {
      if (signals_pending()) return false;
      (void)nanosleep(&nap, NULL);
      const int64_t now = last_change(folder);
      if (now != newest) since_ns = monotonic_ns();
      newest = now;
      if (monotonic_ns() - since_ns <= quiet_s * 1000000000) continue;
      log_line(PD_LOG_ERROR, NULL,
               "rank %u has not finished, and nothing changed in %s for %lld s: the same command makes what is missing",
               i, folder, (long long)quiet_s);
      return false;
    }
    (void)unlink(path);
  }
  return true;
}

bool rank_deal_gathers(const rank_deal *self, const char *what, const char *folder) {
  if (self->is_array) {
    fprintf(stderr,
            "pdhost: %s: the runs of task %u of %u are in %s; the same command, run once after all tasks, gathers\n",
            what, self->rank + 1, self->count, folder);
    return false;
  }
  if (self->rank) {
    (void)leave_mark(self, folder);
    return false;
  }
  return rank_deal_wait(self, folder, RANK_DEAL_QUIET_S);
}
