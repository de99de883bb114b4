/*
 * Which launches of a window have their device records: what the drain waits for. The decoder's thread alone.
 */
#ifndef DEVICES_CUDA_CUPTI_MATCH_H
#define DEVICES_CUDA_CUPTI_MATCH_H

#include <pdhost/record.h>

typedef struct cupti_launch {
  uint64_t correlation;
  int64_t start_ns; /* of the call */
  uint32_t thread;
  uint32_t device_rows; /* records seen */
  uint32_t graph;       /* of its kernels; 0: none */
  uint32_t answers;     /* records that wait for the window's end and will be its own */
  bool pending;         /* device records are due and none has come */
  bool is_graph;        /* a graph's launch: one record is not all */
  bool runtime;         /* a runtime call has this id: a driver call with it is a part of that one */
  bool single;          /* a kernel's launch: a second record is another's */
  bool shared;          /* another call has the same id */
  pd_api_class api;
} cupti_launch;

typedef struct cupti_graph_size {
  uint32_t graph;
  uint32_t nodes; /* most records that one launch of it has left */
} cupti_graph_size;

typedef struct cupti_match {
  cupti_launch *launches;
  uint64_t count, capacity;
  uint32_t *index; /* launch + 1 by hash; a power of two */
  uint64_t index_size;
  uint64_t *graph_launches; /* indices into launches */
  uint64_t graph_count, graph_capacity;
  cupti_graph_size *graphs;
  uint64_t graphs_count, graphs_capacity;
  uint64_t pending;    /* launches without a record yet */
  uint64_t sets;       /* of them, sets of memory: one of no bytes never has a record */
  uint64_t graph_rows; /* records of graphs' launches */
} cupti_match;

void cupti_match_free(cupti_match *self);
/* Forgets the launches, keeps what is known of graphs. */
void cupti_match_reset(cupti_match *self);

cupti_launch *cupti_match_find(const cupti_match *self, uint64_t correlation);
/* Adds a call, or returns the one with that id; NULL on no memory. The pointer lives until the next add. */
cupti_launch *cupti_match_add(cupti_match *self, uint64_t correlation);
/* Says what `launch` owes. Call once per launch. */
pd_status cupti_match_expect(cupti_match *self, cupti_launch *launch, pd_api_class api);
/* A device record of `launch`. */
pd_status cupti_match_seen(cupti_match *self, cupti_launch *launch, uint32_t graph);
/* Nothing will come of the launches of `thread` in [from_ns, to_ns]: they were captured. */
void cupti_match_captured(cupti_match *self, uint32_t thread, int64_t from_ns, int64_t to_ns);

/* Records of `launch` that are still to come, as far as can be known: 1 where none has. */
uint32_t cupti_match_owes(const cupti_match *self, const cupti_launch *launch);
/* The sum of that over the graphs' launches with a record. */
uint64_t cupti_match_nodes(const cupti_match *self);
/* Whether sets of memory are all that is due. */
bool cupti_match_only_sets(const cupti_match *self);
/* Whether every launch of the thread has all its records, as far as can be known. */
bool cupti_match_complete_for(const cupti_match *self, uint32_t thread);

#endif
