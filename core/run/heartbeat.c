/* See heartbeat.h. */
#include "heartbeat.h"

#include "base/monotonic.h"

#include <pdhost/thread_start.h>

#include <errno.h>
#include <semaphore.h>
#include <stdint.h>
#include <time.h>

#define PERIOD_NS 250000000
/* A machine whose cores are all taken wakes a thread late, too, but not this late. */
#define LATE_NS 1000000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of these */
static int users;
static bool runs;
static int64_t beat_ns, stopped_ns; /* the last time it woke; all gaps so far */

static pthread_t thread; /* of begin and end, which `change` keeps apart */
static pthread_mutex_t change = PTHREAD_MUTEX_INITIALIZER;
static sem_t ends;

/* How long it has stood still since the last beat. */
static int64_t gap_ns(int64_t now_ns) {
  const int64_t late_ns = now_ns - beat_ns - PERIOD_NS;
  return runs && late_ns > LATE_NS ? late_ns : 0;
}

static void *beat(void *unused) {
  struct timespec until;
  (void)unused;
  do {
    pthread_mutex_lock(&lock);
    const int64_t now_ns = monotonic_ns();
    stopped_ns += gap_ns(now_ns);
    beat_ns = now_ns;
    pthread_mutex_unlock(&lock);
    until.tv_sec = (now_ns + PERIOD_NS) / 1000000000;
    until.tv_nsec = (now_ns + PERIOD_NS) % 1000000000;
  } while (sem_clockwait(&ends, CLOCK_MONOTONIC, &until) != 0 && (errno == ETIMEDOUT || errno == EINTR));
  return NULL;
}

static bool start(void) {
  sem_init(&ends, 0, 0);
  beat_ns = monotonic_ns();
  const bool started = pd_thread_start(&thread, beat, NULL) == 0;
  if (!started) sem_destroy(&ends);
  return started;
}

bool heartbeat_begin(void) {
  pthread_mutex_lock(&change);
  const bool starts = users++ == 0;
  if (starts) {
    pthread_mutex_lock(&lock);
    runs = start();
    pthread_mutex_unlock(&lock);
  }
  const bool started = runs;
  pthread_mutex_unlock(&change);
  return started;
}

void heartbeat_end(void) {
  pthread_mutex_lock(&change);
  if (--users == 0 && runs) {
    sem_post(&ends);
    pthread_join(thread, NULL);
    sem_destroy(&ends);
    pthread_mutex_lock(&lock);
    runs = false;
    pthread_mutex_unlock(&lock);
  }
  pthread_mutex_unlock(&change);
}

double heartbeat_stopped_s(void) {
  pthread_mutex_lock(&lock);
  const int64_t all_ns = stopped_ns + gap_ns(monotonic_ns());
  pthread_mutex_unlock(&lock);
  return 1e-9 * (double)all_ns;
}
