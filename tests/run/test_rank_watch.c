/* The watch of two ranks, which are threads here: how long a rank may be behind the other one, and how long both may be
 * about something. */
#include "pd_test.h"

#include "run/ranks/rank_watch.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_NS INT64_C(1500000000)

static struct {
  char message[1024];
  sem_t sent;
  atomic_int lost;
} wire;

/* Rank 0's address, which is all that the watch broadcasts. */
static pd_status broadcast(const pd_ranks *ranks, void *data, uint64_t bytes, uint32_t root) {
  cr_assert(root == 0 && bytes <= sizeof wire.message);
  if (ranks->rank == 0) {
    memcpy(wire.message, data, bytes);
    sem_post(&wire.sent);
  } else {
    sem_wait(&wire.sent);
    memcpy(data, wire.message, bytes);
  }
  return PD_OK;
}

static void lost(void *user) {
  (void)user;
  atomic_fetch_add(&wire.lost, 1);
}

static const rank_watch_how how = {.timeout_ns = TIMEOUT_NS, .lost = lost};
static rank_watch *watches[2];

static void *join(void *user) {
  const uint32_t rank = *(const uint32_t *)user;
  const pd_ranks ranks = {.size = sizeof ranks, .rank = rank, .count = 2, .broadcast = broadcast};
  char why[512];
  watches[rank] = rank_watch_open(&ranks, &how, why, sizeof why);
  cr_assert_not_null(watches[rank], "%s", why);
  return NULL;
}

static void *leave(void *user) {
  rank_watch_close(watches[*(const uint32_t *)user]);
  return NULL;
}

static void both(void *(*what)(void *)) {
  static uint32_t ranks[2] = {0, 1};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) cr_assert_eq(pthread_create(&threads[i], NULL, what, &ranks[i]), 0);
  for (int i = 0; i < 2; i++) (void)pthread_join(threads[i], NULL);
}

static bool is_lost(char *why, size_t room) {
  uint32_t rank = 0;
  return rank_watch_lost(watches[0], &rank, why, room) && rank == 1;
}

PD_TEST(rank_watch, all_may_be_about_a_step_for_longer) {
  char why[512] = "";
  sem_init(&wire.sent, 0, 0);
  both(join);
  for (int i = 0; i < 2; i++) {
    usleep(2 * TIMEOUT_NS / 1000);
    rank_watch_count(watches[0]);
    usleep(300000); /* the other one comes later */
    cr_assert_not(is_lost(why, sizeof why), "%s", why);
    rank_watch_count(watches[1]);
  }
  usleep(700000);
  cr_assert_not(is_lost(why, sizeof why), "%s", why);
  both(leave);
  cr_assert_eq(atomic_load(&wire.lost), 0);
}

PD_TEST(rank_watch, one_that_does_not_come_is_lost) {
  char why[512] = "";
  sem_init(&wire.sent, 0, 0);
  both(join);
  rank_watch_count(watches[0]);
  usleep(TIMEOUT_NS / 1000 / 2);
  cr_assert_not(is_lost(why, sizeof why), "%s", why);
  for (int i = 0; i < 100 && !is_lost(why, sizeof why); i++) usleep(100000);
  cr_assert_str_eq(why, "it did not come to collective 1 within 1.5 s");
  both(leave);
  cr_assert_eq(atomic_load(&wire.lost), 2);
}
