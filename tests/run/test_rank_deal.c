/* Rank 0 waits for the marks of the others, as long as anything is made. */
#include "pd_test.h"

#include "base/monotonic.h"
#include "run/ranks/rank_deal.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct other {
  const char *folder;
  int runs; /* one every 0.7 s */
  bool leaves_mark;
} other;

static void touch(const char *folder, const char *name) {
  char path[256];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE *file = fopen(path, "w");
  cr_assert_not_null(file);
  (void)fclose(file);
}

static void *make_runs(void *user) {
  const other *self = user;
  for (int i = 0; i < self->runs; i++) {
    char name[16];
    (void)usleep(700000);
    (void)snprintf(name, sizeof name, "run%d", i);
    touch(self->folder, name);
  }
  if (self->leaves_mark) touch(self->folder, "dealt/job.1");
  return NULL;
}

static atomic_bool is_over;

static void *change_what_is_beside(void *user) {
  for (int i = 0; !atomic_load(&is_over) && i < 100; i++) {
    char name[16];
    (void)usleep(300000);
    (void)snprintf(name, sizeof name, "other%d", i);
    touch(user, name);
  }
  return NULL;
}

/* Whether all were there, and after how many seconds. Something else changes the folder's parent meanwhile. */
static bool waits(int runs, bool leaves_mark, double *seconds) {
  char parent[] = "/tmp/rank_deal_XXXXXX", folder[64], dealt[96];
  cr_assert_not_null(mkdtemp(parent));
  (void)snprintf(folder, sizeof folder, "%s/runs", parent);
  cr_assert_eq(mkdir(folder, 0700), 0);
  (void)snprintf(dealt, sizeof dealt, "%s/dealt", folder);
  cr_assert_eq(mkdir(dealt, 0700), 0);
  const rank_deal deal = {.rank = 0, .count = 2, .job = "job"};
  other second = {folder, runs, leaves_mark};
  pthread_t thread, beside;
  const int64_t begun_ns = monotonic_ns();
  cr_assert_eq(pthread_create(&thread, NULL, make_runs, &second), 0);
  cr_assert_eq(pthread_create(&beside, NULL, change_what_is_beside, parent), 0);
  const bool all = rank_deal_wait(&deal, folder, 4);
  *seconds = 1e-9 * (double)(monotonic_ns() - begun_ns);
  (void)pthread_join(thread, NULL);
  atomic_store(&is_over, true);
  (void)pthread_join(beside, NULL);
  return all;
}

PD_TEST(rank_deal, a_rank_that_still_makes_runs_is_waited_for) {
  double seconds;
  cr_assert(waits(7, true, &seconds));
  cr_assert_gt(seconds, 4.3, "%g", seconds);
}

PD_TEST(rank_deal, a_rank_that_left_nothing_for_long_is_not) {
  double seconds;
  cr_assert_not(waits(1, false, &seconds));
  cr_assert_gt(seconds, 4, "%g", seconds);
  cr_assert_lt(seconds, 20, "%g", seconds);
}

static bool is_there(const char *folder, const char *name) {
  char path[256];
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}

/* An earlier launch was interrupted before rank 0 took the marks. */
PD_TEST(rank_deal, old_marks_of_the_same_name_do_not_count) {
  char folder[] = "/tmp/rank_deal_XXXXXX", path[64];
  const struct timespec long_ago[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
  cr_assert_not_null(mkdtemp(folder));
  (void)snprintf(path, sizeof path, "%s/dealt", folder);
  cr_assert_eq(mkdir(path, 0700), 0);
  for (int i = 1; i <= 2; i++) {
    (void)snprintf(path, sizeof path, "dealt/job.%d", i);
    touch(folder, path);
  }
  (void)snprintf(path, sizeof path, "%s/dealt/job.2", folder);
  cr_assert_eq(utimensat(AT_FDCWD, path, long_ago, 0), 0);
  rank_deal deal = {.rank = 0, .count = 3, .job = "job"};
  rank_deal_begin(&deal, folder); /* rank 1 may have been faster */
  cr_assert(is_there(folder, "dealt/job.1") && !is_there(folder, "dealt/job.2"));
  deal.rank = 1;
  rank_deal_begin(&deal, folder);
  cr_assert_not(is_there(folder, "dealt/job.1"));
}
