/* Connections of every rank with rank 0. Nothing waits longer than the time given, or after an abort. */
#ifndef COMMUNICATORS_TCP_LINK_H
#define COMMUNICATORS_TCP_LINK_H

#include <pdhost/communicator.h>

#include <stdatomic.h>

typedef struct tcp_link {
  pd_launch launch;
  const atomic_bool *aborted;
  int *sockets; /* by rank, on rank 0; elsewhere that to rank 0 is sockets[0] */
} tcp_link;

typedef struct tcp_fault {
  char *text;
  uint64_t room;
} tcp_fault;

/* Rank 0 waits on `port` for the others, which try until it is there. PD_IO with the cause in `fault`. Close it in any
 * case. */
pd_status tcp_link_open(tcp_link *self, const pd_launch *launch, uint32_t port, const atomic_bool *aborted,
                        tcp_fault fault);
void tcp_link_close(tcp_link *self);

/* All of `bytes` to or from a rank. */
pd_status tcp_link_send(const tcp_link *self, uint32_t rank, const void *data, uint64_t bytes, tcp_fault fault);
pd_status tcp_link_receive(const tcp_link *self, uint32_t rank, void *data, uint64_t bytes, tcp_fault fault);

#endif
