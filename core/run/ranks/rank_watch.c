/* See rank_watch.h. Messages have one size, so that a rank's bytes are never mistaken for the next one's. */
#include "rank_watch.h"

#include "base/monotonic.h"
#include "base/signals.h"

#include <pdhost/thread_start.h>

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* RESCUE_S: what a rank whose process ended may take to save what it recorded, before a launcher ends it. */
enum { LOOK_MS = 100, TELL_MS = 500, LEAVE_S = 30, RESCUE_S = 3, CONNECT_S = 20, WHY_BYTES = 400 };

/* A look that comes so late was held up: this process was stopped, or its machine was. */
#define HELD_UP_NS INT64_C(1000000000)

enum { SAYS_HELLO = 1, SAYS_STATUS = 2, SAYS_LOST = 3, SAYS_DONE = 4 };

typedef struct note {
  uint64_t secret;
  uint32_t kind, rank; /* rank: whom it is of */
  uint64_t begun;      /* STATUS: collectives */
  char why[WHY_BYTES];
} note;

typedef struct address {
  char host[256];
  uint32_t port;
  uint32_t failed;
  uint64_t secret;
} address;

/* As rank 0 sees a rank, and each rank rank 0. */
typedef struct peer {
  int socket; /* -1: none */
  bool done;
  uint64_t begun;
  int64_t behind_ns; /* since when another rank has begun more, and this one nothing; 0: none has */
  int64_t heard_ns;  /* when it last said something */
  size_t held;       /* bytes of a note that came so far */
  note coming;
} peer;

struct rank_watch {
  rank_watch_how how;
  uint32_t rank, count;
  uint64_t secret;
  int listener;
  peer *peers; /* by rank; on other ranks 0 alone is in use */
  pthread_t thread;
  atomic_bool leaving;
  atomic_uint_fast64_t begun;
  pthread_mutex_t lock; /* of all below */
  bool is_lost, is_cut; /* is_cut: a rank's process ended */
  uint32_t lost_rank;
  char why[WHY_BYTES];
};

static void send_note(const peer *to, const note *what) {
  const char *at = (const char *)what;
  size_t left = sizeof *what;
  while (to->socket >= 0 && left) {
    const ssize_t sent = send(to->socket, at, left, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return; /* its end is seen where it is read */
    at += sent;
    left -= (size_t)sent;
  }
}

static void send_all(rank_watch *self, const note *what) {
  for (uint32_t i = 0; i < self->count; i++)
    if (i != self->rank) send_note(&self->peers[i], what);
}

static note note_of(rank_watch *self, uint32_t kind) {
  return (note){.secret = self->secret, .kind = kind, .rank = self->rank, .begun = atomic_load(&self->begun)};
}

/* The first loss counts. Rank 0 tells the others. */
static void lose(rank_watch *self, uint32_t rank, const char *why) {
  pthread_mutex_lock(&self->lock);
  const bool first = !self->is_lost;
  if (first) {
    self->is_lost = true;
    self->lost_rank = rank;
    (void)snprintf(self->why, sizeof self->why, "%s", why);
    self->peers[rank].done = true; /* it is not waited for */
  }
  pthread_mutex_unlock(&self->lock);
  if (!first) return;
  if (self->rank == 0 || rank == self->rank) {
    note all = note_of(self, SAYS_LOST);
    all.rank = rank;
    (void)snprintf(all.why, sizeof all.why, "%s", why);
    send_all(self, &all);
  }
  self->how.lost(self->how.user);
}

static void take_note(rank_watch *self, peer *from) {
  const note *what = &from->coming;
  if (what->secret != self->secret) return;
  if (what->kind == SAYS_STATUS && what->begun != from->begun) {
    from->begun = what->begun;
    from->behind_ns = 0;
  }
  if (what->kind == SAYS_DONE) from->done = true;
  if (what->kind == SAYS_LOST && what->rank < self->count) lose(self, what->rank, what->why);
}

static void hear(rank_watch *self, uint32_t rank) {
  peer *from = &self->peers[rank];
  const ssize_t got = recv(from->socket, (char *)&from->coming + from->held, sizeof from->coming - from->held, 0);
  if (got < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (got <= 0) {
    (void)close(from->socket);
    from->socket = -1;
    self->is_cut = self->is_cut || !from->done;
    if (!from->done) lose(self, rank, "its process ended");
    return;
  }
  from->held += (size_t)got;
  from->heard_ns = monotonic_ns();
  if (from->held < sizeof from->coming) return;
  from->held = 0;
  from->coming.why[WHY_BYTES - 1] = '\0';
  take_note(self, from);
}

/* A rank that has begun fewer collectives than another, for too long. How long all ranks are about a step, or set up
 * something, is not limited. */
static void look_for_hang(rank_watch *self) {
  const int64_t now_ns = monotonic_ns();
  peer *own = &self->peers[self->rank];
  const uint64_t begun = atomic_load(&self->begun);
  uint64_t most = begun;
  if (own->begun != begun) own->behind_ns = 0;
  own->begun = begun;
  for (uint32_t i = 0; i < self->count; i++)
    if (self->peers[i].begun > most) most = self->peers[i].begun;
  for (uint32_t i = 0; i < self->count; i++) {
    peer *at = &self->peers[i];
    if (at->begun == most || at->done)
      at->behind_ns = 0;
    else if (!at->behind_ns)
      at->behind_ns = now_ns;
    if (!at->behind_ns || now_ns - at->behind_ns < self->how.timeout_ns) continue;
    char why[WHY_BYTES];
    (void)snprintf(why, sizeof why, "it did not come to collective %llu within %.3g s",
                   (unsigned long long)at->begun + 1, 1e-9 * (double)self->how.timeout_ns);
    lose(self, i, why);
  }
}

/* Every rank says something all the time, whatever it does: one that does not is stopped, or its machine is. */
static void look_for_silence(rank_watch *self) {
  char why[WHY_BYTES];
  for (uint32_t i = 0; i < self->count; i++) {
    const peer *at = &self->peers[i];
    if (at->socket < 0 || at->done || monotonic_ns() - at->heard_ns < self->how.timeout_ns) continue;
    (void)snprintf(why, sizeof why, "it has said nothing for %.3g s", 1e-9 * (double)self->how.timeout_ns);
    lose(self, i, why);
  }
}

/* While this process was stopped it could not hear the others. Where all ranks were (Ctrl-Z, Slurm's suspend), they go
 * on. */
static void forgive(rank_watch *self, int64_t held_up_ns) {
  for (uint32_t i = 0; i < self->count; i++) {
    peer *at = &self->peers[i];
    at->heard_ns += held_up_ns;
    if (at->behind_ns) at->behind_ns += held_up_ns;
  }
}

static void *watch(void *user) {
  rank_watch *self = user;
  struct pollfd *all = calloc(self->count, sizeof *all);
  int64_t told_ns = 0, looked_ns = monotonic_ns();
  while (all && !atomic_load(&self->leaving)) {
    for (uint32_t i = 0; i < self->count; i++) all[i] = (struct pollfd){.fd = self->peers[i].socket, .events = POLLIN};
    const int ready = poll(all, self->count, LOOK_MS);
    const int64_t took_ns = monotonic_ns() - looked_ns;
    looked_ns += took_ns;
    if (took_ns > HELD_UP_NS) forgive(self, took_ns);
    for (uint32_t i = 0; i < self->count && ready > 0; i++)
      if (all[i].fd >= 0 && all[i].revents) hear(self, i);
    look_for_silence(self);
    if (self->rank == 0) look_for_hang(self);
    if (monotonic_ns() - told_ns < (int64_t)TELL_MS * 1000000) continue;
    told_ns = monotonic_ns();
    const note status = note_of(self, SAYS_STATUS);
    send_all(self, &status);
  }
  free(all);
  return NULL;
}

/* ---- life ---- */

static bool listen_here(rank_watch *self, address *out) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
  socklen_t bytes = sizeof at;
  self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (self->listener < 0 || bind(self->listener, (const struct sockaddr *)&at, sizeof at) != 0 ||
      listen(self->listener, (int)self->count) != 0 || getsockname(self->listener, (struct sockaddr *)&at, &bytes) != 0)
    return false;
  out->port = ntohs(at.sin_port);
  return gethostname(out->host, sizeof out->host - 1) == 0 && getentropy(&out->secret, sizeof out->secret) == 0;
}

static bool receive_hello(const rank_watch *self, int from, note *out) {
  const struct timeval limit = {.tv_sec = 5};
  (void)setsockopt(from, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  return recv(from, out, sizeof *out, MSG_WAITALL) == (ssize_t)sizeof *out && out->secret == self->secret &&
         out->kind == SAYS_HELLO && out->rank > 0 && out->rank < self->count && self->peers[out->rank].socket < 0;
}

static bool accept_all(rank_watch *self) {
  const int64_t until_ns = monotonic_ns() + (int64_t)CONNECT_S * 1000000000;
  for (uint32_t there = 1; there < self->count;) {
    struct pollfd door = {.fd = self->listener, .events = POLLIN};
    if (monotonic_ns() > until_ns) return false;
    if (poll(&door, 1, LOOK_MS) <= 0) continue;
    note hello;
    const int one = accept4(self->listener, NULL, NULL, SOCK_CLOEXEC);
    if (one < 0) continue;
    if (receive_hello(self, one, &hello)) {
      self->peers[hello.rank].socket = one;
      there++;
    } else {
      (void)close(one);
    }
  }
  return true;
}

static bool connect_to(rank_watch *self, const address *to) {
  char port[16], own[256] = "";
  struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
  (void)snprintf(port, sizeof port, "%u", to->port);
  (void)gethostname(own, sizeof own - 1);
  if (getaddrinfo(strcmp(own, to->host) == 0 ? "127.0.0.1" : to->host, port, &hints, &found) != 0) return false;
  for (const struct addrinfo *at = found; at && self->peers[0].socket < 0; at = at->ai_next) {
    const int one = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (one >= 0 && connect(one, at->ai_addr, at->ai_addrlen) == 0)
      self->peers[0].socket = one;
    else if (one >= 0)
      (void)close(one);
  }
  freeaddrinfo(found);
  const note hello = note_of(self, SAYS_HELLO);
  send_note(&self->peers[0], &hello);
  return self->peers[0].socket >= 0;
}

static void release(rank_watch *self) {
  for (uint32_t i = 0; self->peers && i < self->count; i++)
    if (self->peers[i].socket >= 0) (void)close(self->peers[i].socket);
  if (self->listener >= 0) (void)close(self->listener);
  pthread_mutex_destroy(&self->lock);
  free(self->peers);
  free(self);
}

static bool connect_all(rank_watch *self, const pd_ranks *ranks, char *why, size_t room) {
  address at = {.port = 0};
  if (self->rank == 0) at.failed = !listen_here(self, &at);
  if (ranks->broadcast(ranks, &at, sizeof at, 0) != PD_OK) {
    (void)snprintf(why, room, "rank 0 does not answer");
    return false;
  }
  self->secret = at.secret;
  const bool ok = !at.failed && (self->rank == 0 ? accept_all(self) : connect_to(self, &at));
  if (!ok) (void)snprintf(why, room, "no connection between this rank and rank 0 on %s port %u", at.host, at.port);
  return ok;
}

rank_watch *rank_watch_open(const pd_ranks *ranks, const rank_watch_how *how, char *why, size_t room) {
  rank_watch *self = calloc(1, sizeof *self);
  peer *peers = calloc(ranks->count, sizeof *peers);
  (void)snprintf(why, room, "no memory");
  if (!self || !peers) {
    free(peers);
    free(self);
    return NULL;
  }
  self->how = *how;
  self->rank = ranks->rank;
  self->count = ranks->count;
  self->peers = peers;
  self->listener = -1;
  pthread_mutex_init(&self->lock, NULL);
  for (uint32_t i = 0; i < self->count; i++) peers[i] = (peer){.socket = -1};
  const bool connected = connect_all(self, ranks, why, room);
  for (uint32_t i = 0; i < self->count; i++) peers[i].heard_ns = monotonic_ns();
  if (!connected || pd_thread_start(&self->thread, watch, self) != 0) {
    release(self);
    return NULL;
  }
  return self;
}

static bool all_are_done(const rank_watch *self) {
  for (uint32_t i = 0; i < self->count; i++)
    if (self->peers[i].socket >= 0 && !self->peers[i].done) return false;
  return true;
}

/* Rank 0 answers when all are done or gone; the others wait for that. */
static void leave_together(rank_watch *self) {
  const int64_t until_ns = monotonic_ns() + (int64_t)LEAVE_S * 1000000000;
  const note done = note_of(self, SAYS_DONE);
  if (self->rank) send_all(self, &done);
  while (!all_are_done(self) && monotonic_ns() < until_ns) {
    for (uint32_t i = 0; i < self->count; i++) {
      struct pollfd one = {.fd = self->peers[i].socket, .events = POLLIN};
      if (one.fd >= 0 && poll(&one, 1, 10) > 0) hear(self, i);
    }
  }
  if (!self->rank) send_all(self, &done);
  const int64_t rescued_ns = monotonic_ns() + (int64_t)RESCUE_S * 1000000000;
  const struct timespec nap = {.tv_nsec = (long)LOOK_MS * 1000000};
  while (self->is_cut && monotonic_ns() < rescued_ns && !signals_pending()) (void)nanosleep(&nap, NULL);
}

void rank_watch_close(rank_watch *self) {
  if (!self) return;
  atomic_store(&self->leaving, true);
  (void)pthread_join(self->thread, NULL);
  leave_together(self);
  release(self);
}

void rank_watch_count(rank_watch *self) { (void)atomic_fetch_add(&self->begun, 1); }

void rank_watch_tell(rank_watch *self, const char *why) { lose(self, self->rank, why); }

bool rank_watch_lost(rank_watch *self, uint32_t *rank, char *why, size_t room) {
  pthread_mutex_lock(&self->lock);
  const bool lost = self->is_lost;
  *rank = self->lost_rank;
  if (room) (void)snprintf(why, room, "%s", self->why);
  pthread_mutex_unlock(&self->lock);
  return lost;
}
