/* See tcp_link.h. */
#include "tcp_link.h"

#include <pdhost/clocks.h>

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 20 };

/* What a rank says first: a stranger at the port is not taken for one. */
typedef struct hello {
  char word[8];
  uint32_t rank, count;
} hello;
static const char word[8] = "pdhost1";

static bool is_over(const tcp_link *self, int64_t until_ns, const char *what, tcp_fault fault) {
  if (atomic_load_explicit(self->aborted, memory_order_relaxed))
    (void)snprintf(fault.text, fault.room, "tcp: %s: ended, since another rank did", what);
  else if (pd_monotonic_ns() > until_ns)
    (void)snprintf(fault.text, fault.room, "tcp: %s: no answer within %.3g s", what,
                   1e-9 * (double)self->launch.timeout_ns);
  else
    return false;
  return true;
}

/* Moves all bytes one way. */
static pd_status move(const tcp_link *self, uint32_t rank, void *data, uint64_t bytes, bool out, tcp_fault fault) {
  const int64_t until_ns = pd_monotonic_ns() + self->launch.timeout_ns;
  const int at = self->sockets[rank];
  char what[32];
  (void)snprintf(what, sizeof what, "rank %u", rank);
  for (char *from = data; bytes > 0;) {
    const ssize_t moved =
        out ? send(at, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) : recv(at, from, bytes, MSG_DONTWAIT);
    if (moved > 0) {
      from += moved;
      bytes -= (uint64_t)moved;
      continue;
    }
    if (moved == 0 || (errno != EAGAIN && errno != EINTR)) {
      (void)snprintf(fault.text, fault.room, "tcp: rank %u: %s", rank, moved ? strerror(errno) : "its process ended");
      return PD_IO;
    }
    if (is_over(self, until_ns, what, fault)) return PD_IO;
    struct pollfd one = {.fd = at, .events = out ? POLLOUT : POLLIN};
    (void)poll(&one, 1, LOOK_MS);
  }
  return PD_OK;
}

pd_status tcp_link_send(const tcp_link *self, uint32_t rank, const void *data, uint64_t bytes, tcp_fault fault) {
  union {
    const void *given;
    void *taken;
  } same = {.given = data}; /* what is sent is only read */
  return move(self, rank, same.taken, bytes, true, fault);
}

pd_status tcp_link_receive(const tcp_link *self, uint32_t rank, void *data, uint64_t bytes, tcp_fault fault) {
  return move(self, rank, data, bytes, false, fault);
}

static void no_delay(int at) {
  const int on = 1;
  (void)setsockopt(at, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int listen_on(uint32_t port) {
  const int on = 1, at = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const struct sockaddr_in here = {
      .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_ANY)};
  if (at < 0) return -1;
  (void)setsockopt(at, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(at, (const struct sockaddr *)&here, sizeof here) == 0 && listen(at, SOMAXCONN) == 0) return at;
  (void)close(at);
  return -1;
}

/* One more rank, or a stranger, who is sent away. */
static bool accept_one(tcp_link *self, int door) {
  const struct timeval limit = {.tv_sec = 5};
  hello first;
  const int at = accept4(door, NULL, NULL, SOCK_CLOEXEC);
  if (at < 0) return false;
  (void)setsockopt(at, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  const bool known = recv(at, &first, sizeof first, MSG_WAITALL) == (ssize_t)sizeof first &&
                     memcmp(first.word, word, sizeof word) == 0 && first.count == self->launch.count && first.rank &&
                     first.rank < first.count && self->sockets[first.rank] < 0;
  if (known) {
    no_delay(at);
    self->sockets[first.rank] = at;
  } else {
    (void)close(at);
  }
  return known;
}

static pd_status accept_all(tcp_link *self, uint32_t port, tcp_fault fault) {
  const int64_t until_ns = pd_monotonic_ns() + self->launch.timeout_ns;
  const int door = listen_on(port);
  pd_status status = PD_OK;
  if (door < 0) {
    (void)snprintf(fault.text, fault.room, "tcp: port %u cannot be used: %s; set MASTER_PORT", port, strerror(errno));
    return PD_IO;
  }
  for (uint32_t there = 1; there < self->launch.count && status == PD_OK;) {
    struct pollfd one = {.fd = door, .events = POLLIN};
    if (poll(&one, 1, LOOK_MS) > 0) there += accept_one(self, door);
    if (there < self->launch.count && is_over(self, until_ns, "the other ranks", fault)) status = PD_IO;
  }
  (void)close(door);
  return status;
}

static int connect_once(const struct addrinfo *all) {
  for (const struct addrinfo *at = all; at; at = at->ai_next) {
    const int one = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (one >= 0 && connect(one, at->ai_addr, at->ai_addrlen) == 0) return one;
    if (one >= 0) (void)close(one);
  }
  return -1;
}

static pd_status connect_to(tcp_link *self, uint32_t port, tcp_fault fault) {
  const int64_t until_ns = pd_monotonic_ns() + self->launch.timeout_ns;
  const struct timespec nap = {.tv_nsec = LOOK_MS * 1000000L};
  const char *host = self->launch.address ? self->launch.address : "127.0.0.1";
  const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
  struct addrinfo *found = NULL;
  hello first = {.rank = self->launch.rank, .count = self->launch.count};
  char text[16];
  memcpy(first.word, word, sizeof word);
  (void)snprintf(text, sizeof text, "%u", port);
  const int unknown = getaddrinfo(host, text, &hints, &found);
  if (unknown) {
    (void)snprintf(fault.text, fault.room, "tcp: MASTER_ADDR=%s: %s", host, gai_strerror(unknown));
    return PD_IO;
  }
  pd_status status = PD_OK;
  while (status == PD_OK && (self->sockets[0] = connect_once(found)) < 0) {
    if (is_over(self, until_ns, "rank 0", fault)) status = PD_IO;
    (void)nanosleep(&nap, NULL);
  }
  freeaddrinfo(found);
  if (status != PD_OK) return status;
  no_delay(self->sockets[0]);
  return tcp_link_send(self, 0, &first, sizeof first, fault);
}

pd_status tcp_link_open(tcp_link *self, const pd_launch *launch, uint32_t port, const atomic_bool *aborted,
                        tcp_fault fault) {
  *self = (tcp_link){.launch = *launch, .aborted = aborted, .sockets = calloc(launch->count, sizeof *self->sockets)};
  if (!self->sockets) {
    (void)snprintf(fault.text, fault.room, "tcp: no memory");
    return PD_NO_MEMORY;
  }
  for (uint32_t i = 0; i < launch->count; i++) self->sockets[i] = -1;
  return launch->rank ? connect_to(self, port, fault) : accept_all(self, port, fault);
}

void tcp_link_close(tcp_link *self) {
  for (uint32_t i = 0; self->sockets && i < self->launch.count; i++)
    if (self->sockets[i] >= 0) (void)close(self->sockets[i]);
  free(self->sockets);
  self->sockets = NULL;
}
