/* Joining ends when NCCL's own call returns, when a rank is lost, and when the time is over. */
#include "pd_test.h"

#include "nccl_joining.h"

#include <pdhost/clocks.h>

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static struct {
  atomic_bool lets_in, lost;
  atomic_int inside, left;
  ncclResult_t code;
  int count, rank;
  char id_first;
} played;

/* As ncclCommInitRank does: waits for the other ranks, however long. */
static ncclResult_t play_init(ncclComm_t *comm, int count, ncclUniqueId id, int rank) {
  played.count = count;
  played.rank = rank;
  played.id_first = id.internal[0];
  atomic_fetch_add(&played.inside, 1);
  while (!atomic_load(&played.lets_in)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  static int made;
  *comm = (ncclComm_t)(void *)&made;
  atomic_fetch_add(&played.left, 1);
  return played.code;
}

static bool is_lost(const pd_ranks *ranks) {
  (void)ranks;
  return atomic_load(&played.lost);
}

static const pd_ranks ranks = {.size = sizeof(pd_ranks), .rank = 1, .count = 3, .is_lost = is_lost};

static nccl_join_result join(int64_t timeout_ns, ncclComm_t *comm) {
  ncclUniqueId id;
  memset(&id, 7, sizeof id);
  *comm = NULL;
  return nccl_join(play_init, &ranks, &id, timeout_ns, comm);
}

/* The thread that was given up ends too, and frees what it holds: a sanitizer would say so. */
static void let_in(void) {
  atomic_store(&played.lets_in, true);
  while (atomic_load(&played.left) < atomic_load(&played.inside))
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

PD_TEST(nccl_joining, all_ranks_come) {
  ncclComm_t comm;
  atomic_store(&played.lets_in, true);
  nccl_join_result joined = join(10000000000, &comm);
  cr_assert_eq(joined.how, LIMITED_CALL_ENDED);
  cr_assert_eq(joined.code, ncclSuccess);
  cr_assert_not_null(comm);
  cr_assert_eq(played.count, 3);
  cr_assert_eq(played.rank, 1);
  cr_assert_eq(played.id_first, 7);
  played.code = ncclInvalidUsage;
  joined = join(10000000000, &comm);
  cr_assert_eq(joined.how, LIMITED_CALL_ENDED);
  cr_assert_eq(joined.code, ncclInvalidUsage);
}

PD_TEST(nccl_joining, a_rank_does_not_come) {
  ncclComm_t comm;
  const int64_t from_ns = pd_monotonic_ns();
  const nccl_join_result joined = join(200000000, &comm);
  const int64_t took_ns = pd_monotonic_ns() - from_ns;
  cr_assert_eq(joined.how, LIMITED_CALL_GOES_ON);
  cr_assert_null(comm);
  cr_assert(took_ns >= 200000000 && took_ns < 5000000000, "%lld", (long long)took_ns);
  let_in();
}

static void *lose(void *user) {
  (void)user;
  while (!atomic_load(&played.inside)) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  atomic_store(&played.lost, true);
  return NULL;
}

PD_TEST(nccl_joining, a_rank_is_lost_while_it_is_waited_for) {
  ncclComm_t comm;
  pthread_t other;
  const int64_t from_ns = pd_monotonic_ns();
  cr_assert_eq(pthread_create(&other, NULL, lose, NULL), 0);
  const nccl_join_result joined = join(60000000000, &comm);
  cr_assert_eq(joined.how, LIMITED_CALL_GOES_ON);
  cr_assert_lt(pd_monotonic_ns() - from_ns, 10000000000);
  pthread_join(other, NULL);
  let_in();
}
