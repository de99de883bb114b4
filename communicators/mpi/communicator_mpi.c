/*
 * mpi: ranks that mpirun or srun started, over host memory.
 *
 * No collective waits inside MPI: each is begun, and asked after until it is done, the time is over or the run is
 * aborted. An all-reduce runs on a stream's own thread while the loop's thread may be here too, so that one lock is
 * around every call. MPI_Init_thread and MPI_Comm_dup wait for all ranks, and a thread of their own calls them.
 */
#include "../lib/limited_call.h"
#include "../lib/on_stream.h"

#include <pdhost/clocks.h>

#include <mpi.h>

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

struct pd_communicator {
  const pd_host *host;
  pd_launch launch;
  MPI_Comm world, streams; /* one for the host's calls, one for those of a stream: their order is not the same */
  pthread_mutex_t lock;    /* of MPI */
  atomic_bool aborted;
};

static pd_status told(char *message, uint64_t room, int code, const char *what) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int bytes = 0;
  (void)MPI_Error_string(code, text, &bytes);
  (void)snprintf(message, room, "mpi: %s: %s", what, text);
  return PD_IO;
}

/* A core that spins here is missed by the ranks that compute; a long message goes on only while MPI is asked. */
static void pause_for(uint64_t asked) {
  static _Thread_local bool is_exact;
  static const struct timespec nap = {.tv_nsec = 5000};
  if (!is_exact) (void)prctl(PR_SET_TIMERSLACK, 1000UL); /* else a nap takes 50 us more */
  is_exact = true;
  if (asked < 64)
    sched_yield();
  else
    (void)nanosleep(&nap, NULL);
}

/* Until the request is done. One that never is stays, with its buffers: the process ends soon. */
static pd_status complete(pd_communicator *self, MPI_Request *request, const char *what, char *message, uint64_t room) {
  const int64_t until_ns = pd_monotonic_ns() + self->launch.timeout_ns;
  for (uint64_t asked = 0;; asked++) {
    int done = 0;
    pthread_mutex_lock(&self->lock);
    const int code = MPI_Test(request, &done, MPI_STATUS_IGNORE);
    pthread_mutex_unlock(&self->lock);
    if (code != MPI_SUCCESS) return told(message, room, code, what);
    if (done) return PD_OK;
    if (atomic_load_explicit(&self->aborted, memory_order_relaxed)) {
      (void)snprintf(message, room, "mpi: %s: ended, since another rank did", what);
      return PD_IO;
    }
    if (pd_monotonic_ns() > until_ns) {
      (void)snprintf(message, room, "mpi: %s: the other ranks did not come within %.3g s", what,
                     1e-9 * (double)self->launch.timeout_ns);
      return PD_IO;
    }
    pause_for(asked);
  }
}

/* Begins a call under the lock, and waits for it on the host. */
#define ON_HOST(self, what, call)                                                                                      \
  do {                                                                                                                 \
    char message[256] = "";                                                                                            \
    MPI_Request request = MPI_REQUEST_NULL;                                                                            \
    pthread_mutex_lock(&(self)->lock);                                                                                 \
    const int code = (call);                                                                                           \
    pthread_mutex_unlock(&(self)->lock);                                                                               \
    const pd_status status = code == MPI_SUCCESS ? complete((self), &request, what, message, sizeof message)           \
                                                 : told(message, sizeof message, code, what);                          \
    return status == PD_OK ? PD_OK : (self)->host->fail((self)->host, status, "%s", message);                          \
  } while (0)

/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker): complete() asks after every request until it is done */
static pd_status barrier(pd_communicator *self) { ON_HOST(self, "barrier", MPI_Ibarrier(self->world, &request)); }

static pd_status too_large(const pd_communicator *self, uint64_t bytes) {
  return self->host->fail(self->host, PD_INVALID, "mpi: a message of %llu bytes is too large",
                          (unsigned long long)bytes);
}

static pd_status broadcast(pd_communicator *self, void *data, uint64_t bytes, uint32_t root) {
  if (bytes > INT_MAX) return too_large(self, bytes);
  ON_HOST(self, "broadcast", MPI_Ibcast(data, (int)bytes, MPI_BYTE, (int)root, self->world, &request));
}

static pd_status gather(pd_communicator *self, const void *data, uint64_t bytes, void *all) {
  if (bytes > INT_MAX) return too_large(self, bytes);
  ON_HOST(self, "gather", MPI_Iallgather(data, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, self->world, &request));
}

/* ---- on a stream ---- */

static pd_status reduce(const void *arguments, char *message, uint64_t room) {
  const reduction *of = arguments;
  pd_communicator *self = of->self;
  MPI_Request request = MPI_REQUEST_NULL;
  pthread_mutex_lock(&self->lock);
  const int code = MPI_Iallreduce(MPI_IN_PLACE, of->data, (int)of->count, MPI_FLOAT, MPI_SUM, self->streams, &request);
  pthread_mutex_unlock(&self->lock);
  if (code != MPI_SUCCESS) return told(message, room, code, "all-reduce");
  const pd_status status = complete(self, &request, "all-reduce", message, room);
  const float share = 1.0F / (float)self->launch.count;
  if (status == PD_OK && of->how == PD_REDUCE_MEAN)
    for (uint64_t i = 0; i < of->count; i++) of->data[i] *= share;
  return status;
}

/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

/* NOLINTNEXTLINE(readability-non-const-parameter): what runs later writes to it */
static pd_status all_reduce(pd_communicator *self, pd_stream *stream, float *data, uint64_t count, pd_reduce how) {
  static pd_site site = PD_SITE("mpi:all_reduce", 0);
  const reduction of = {.self = self, .data = data, .count = count, .how = how};
  if (count > INT_MAX) return too_large(self, count * sizeof(float));
  return on_stream_reduce(self->host, "mpi", stream, &site, reduce, &of);
}

/* ---- life ---- */

typedef struct beginning {
  int code, level;
  const char *what; /* that failed */
  MPI_Comm streams;
} beginning;

/* MPI begins and ends once in a process. */
static void begin(void *work) {
  beginning *self = work;
  int begun = 0;
  (void)MPI_Initialized(&begun);
  self->what = "MPI_Init";
  self->code =
      begun ? MPI_Query_thread(&self->level) : MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &self->level);
  if (self->code != MPI_SUCCESS || self->level < MPI_THREAD_SERIALIZED) return;
  (void)MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  self->what = "MPI_Comm_dup";
  self->code = MPI_Comm_dup(MPI_COMM_WORLD, &self->streams);
}

static pd_status begin_with_limit(const pd_host *host, const pd_launch *launch, MPI_Comm *streams) {
  const limited_call how = {.run = begin, .discard = free, .timeout_ns = launch->timeout_ns};
  int ended = 0;
  (void)MPI_Finalized(&ended);
  if (ended) return host->fail(host, PD_UNSUPPORTED, "mpi: it was ended in this process already");
  beginning *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "mpi: no memory");
  const limited_call_end end = limited_call_make(&how, self);
  pd_status status = PD_OK;
  if (end == LIMITED_CALL_GOES_ON)
    return host->fail(host, PD_IO, "mpi: the other ranks did not begin within %.3g s",
                      1e-9 * (double)launch->timeout_ns);
  if (end == LIMITED_CALL_NO_THREAD)
    status = host->fail(host, PD_NO_MEMORY, "mpi: no memory for a thread");
  else if (self->code != MPI_SUCCESS)
    status = host->fail(host, PD_UNSUPPORTED, "mpi: %s failed", self->what);
  else if (self->level < MPI_THREAD_SERIALIZED)
    status = host->fail(host, PD_UNSUPPORTED, "mpi: this MPI is built without threads (MPI_THREAD_SERIALIZED)");
  if (status == PD_OK) *streams = self->streams;
  free(self);
  return status;
}

static pd_status check(const pd_communicator *self) {
  int rank = -1, count = 0;
  (void)MPI_Comm_rank(self->world, &rank);
  (void)MPI_Comm_size(self->world, &count);
  if ((uint32_t)rank == self->launch.rank && (uint32_t)count == self->launch.count) return PD_OK;
  return self->host->fail(
      self->host, PD_UNSUPPORTED,
      "mpi: the launcher says rank %u of %u, and MPI says %d of %d: it was started by another MPI's "
      "mpirun, or by a srun without its support for this MPI (try srun --mpi=pmix)",
      self->launch.rank, self->launch.count, rank, count);
}

static void close_mpi(pd_communicator *self) {
  int ended = 0;
  (void)MPI_Finalized(&ended);
  /* After an abort a message may be under way without end, and MPI_Finalize would wait for it. */
  if (!ended && !atomic_load(&self->aborted)) (void)MPI_Finalize();
  pthread_mutex_destroy(&self->lock);
  free(self);
}

static pd_status init(const pd_host *host, const void *options, const pd_launch *launch, pd_communicator **out) {
  (void)options;
  *out = NULL;
  MPI_Comm streams = MPI_COMM_NULL;
  pd_status status = begin_with_limit(host, launch, &streams);
  if (status != PD_OK) return status;
  pd_communicator *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "mpi: no memory");
  self->host = host;
  self->launch = *launch;
  pthread_mutex_init(&self->lock, NULL);
  self->world = MPI_COMM_WORLD;
  self->streams = streams;
  status = check(self);
  if (status != PD_OK) {
    close_mpi(self);
    return status;
  }
  *out = self;
  return PD_OK;
}

static uint32_t rank(const pd_communicator *self) { return self->launch.rank; }
static uint32_t count(const pd_communicator *self) { return self->launch.count; }
static void abort_waits(pd_communicator *self) { atomic_store(&self->aborted, true); }

PD_COMMUNICATOR_PLAIN("mpi", "1.0", "ranks started by mpirun or srun, over host memory", .init = init,
                      .close = close_mpi, .rank = rank, .count = count, .all_reduce = all_reduce, .barrier = barrier,
                      .broadcast = broadcast, .gather = gather, .abort = abort_waits)
