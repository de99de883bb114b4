/*
 * tcp: ranks that torchrun started, or anything else that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; no
 * library is needed. Everything goes through rank 0, which is good enough to bring NCCL up and for small runs on the
 * CPU.
 *
 * torchrun has MASTER_PORT itself: the two ports after it are used, one for the host's calls, one for those of a
 * stream.
 */
#include "tcp_link.h"

#include "../lib/on_stream.h"

#include <stdlib.h>
#include <string.h>

struct pd_communicator {
  const pd_host *host;
  pd_launch launch;
  tcp_link calls, streams;
  atomic_bool aborted;
};

static pd_status gather_all(pd_communicator *self, const void *data, uint64_t bytes, void *all, tcp_fault fault) {
  const uint32_t count = self->launch.count;
  pd_status status = PD_OK;
  if (self->launch.rank) {
    status = tcp_link_send(&self->calls, 0, data, bytes, fault);
    return status == PD_OK ? tcp_link_receive(&self->calls, 0, all, bytes * count, fault) : status;
  }
  if (bytes) memcpy(all, data, bytes);
  for (uint32_t i = 1; i < count && status == PD_OK; i++)
    status = tcp_link_receive(&self->calls, i, (char *)all + i * bytes, bytes, fault);
  for (uint32_t i = 1; i < count && status == PD_OK; i++)
    status = tcp_link_send(&self->calls, i, all, bytes * count, fault);
  return status;
}

static pd_status gather(pd_communicator *self, const void *data, uint64_t bytes, void *all) {
  char message[256] = "";
  const pd_status status = gather_all(self, data, bytes, all, (tcp_fault){message, sizeof message});
  return status == PD_OK ? PD_OK : self->host->fail(self->host, status, "%s", message);
}

static pd_status barrier(pd_communicator *self) {
  const char none = 0;
  char *all = calloc(self->launch.count, 1);
  if (!all) return self->host->fail(self->host, PD_NO_MEMORY, "tcp: no memory");
  const pd_status status = gather(self, &none, 1, all);
  free(all);
  return status;
}

static pd_status broadcast_all(pd_communicator *self, void *data, uint64_t bytes, uint32_t root, tcp_fault fault) {
  pd_status status = PD_OK;
  if (self->launch.rank) {
    if (root == self->launch.rank) return tcp_link_send(&self->calls, 0, data, bytes, fault);
    return tcp_link_receive(&self->calls, 0, data, bytes, fault);
  }
  if (root) status = tcp_link_receive(&self->calls, root, data, bytes, fault);
  for (uint32_t i = 1; i < self->launch.count && status == PD_OK; i++)
    if (i != root) status = tcp_link_send(&self->calls, i, data, bytes, fault);
  return status;
}

static pd_status broadcast(pd_communicator *self, void *data, uint64_t bytes, uint32_t root) {
  char message[256] = "";
  const pd_status status = broadcast_all(self, data, bytes, root, (tcp_fault){message, sizeof message});
  return status == PD_OK ? PD_OK : self->host->fail(self->host, status, "%s", message);
}

/* ---- on a stream ---- */

/* Rank 0 adds in the order of the ranks. */
static pd_status add_all(const reduction *of, float *scratch, tcp_fault fault) {
  const uint64_t bytes = of->count * sizeof(float);
  const uint32_t count = of->self->launch.count;
  const tcp_link *link = &of->self->streams;
  const float share = of->how == PD_REDUCE_MEAN ? 1.0F / (float)count : 1.0F;
  pd_status status = PD_OK;
  for (uint32_t i = 1; i < count && status == PD_OK; i++) {
    status = tcp_link_receive(link, i, scratch, bytes, fault);
    for (uint64_t k = 0; k < of->count && status == PD_OK; k++) of->data[k] += scratch[k];
  }
  for (uint64_t k = 0; k < of->count; k++) of->data[k] *= share;
  for (uint32_t i = 1; i < count && status == PD_OK; i++) status = tcp_link_send(link, i, of->data, bytes, fault);
  return status;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): a failure is written there */
static pd_status reduce(const void *arguments, char *message, uint64_t room) {
  const reduction *of = arguments;
  const tcp_fault fault = {message, room};
  const uint64_t bytes = of->count * sizeof(float);
  const tcp_link *link = &of->self->streams;
  if (of->self->launch.rank) {
    const pd_status status = tcp_link_send(link, 0, of->data, bytes, fault);
    return status == PD_OK ? tcp_link_receive(link, 0, of->data, bytes, fault) : status;
  }
  float *scratch = malloc(bytes ? bytes : 1);
  const pd_status status = scratch ? add_all(of, scratch, fault) : PD_NO_MEMORY;
  free(scratch);
  return status;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): what runs later writes to it */
static pd_status all_reduce(pd_communicator *self, pd_stream *stream, float *data, uint64_t count, pd_reduce how) {
  static pd_site site = PD_SITE("tcp:all_reduce", 0);
  const reduction of = {.self = self, .data = data, .count = count, .how = how};
  return on_stream_reduce(self->host, "tcp", stream, &site, reduce, &of);
}

/* ---- life ---- */

static void close_tcp(pd_communicator *self) {
  tcp_link_close(&self->calls);
  tcp_link_close(&self->streams);
  free(self);
}

static pd_status init(const pd_host *host, const void *options, const pd_launch *launch, pd_communicator **out) {
  char message[256] = "";
  const tcp_fault fault = {message, sizeof message};
  (void)options;
  *out = NULL;
  if (!launch->port || launch->port > UINT16_MAX - 2)
    return host->fail(host, PD_UNSUPPORTED, "tcp: MASTER_PORT is not set, or is not a port: torchrun sets it");
  pd_communicator *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, PD_NO_MEMORY, "tcp: no memory");
  self->host = host;
  self->launch = *launch;
  pd_status status = tcp_link_open(&self->calls, launch, launch->port + 1, &self->aborted, fault);
  if (status == PD_OK) status = tcp_link_open(&self->streams, launch, launch->port + 2, &self->aborted, fault);
  if (status != PD_OK) {
    close_tcp(self);
    return host->fail(host, status, "%s", message);
  }
  *out = self;
  return PD_OK;
}

static uint32_t rank(const pd_communicator *self) { return self->launch.rank; }
static uint32_t count(const pd_communicator *self) { return self->launch.count; }
static void abort_waits(pd_communicator *self) { atomic_store(&self->aborted, true); }

PD_COMMUNICATOR_PLAIN("tcp", "1.0", "ranks started by torchrun, over host memory, without a library", .init = init,
                      .close = close_tcp, .rank = rank, .count = count, .all_reduce = all_reduce, .barrier = barrier,
                      .broadcast = broadcast, .gather = gather, .abort = abort_waits)
