/* The table of a window's launches by correlation id: open addressing over a list. */
#include "cupti_match.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

static uint64_t slot_of(const cupti_match *self, uint64_t correlation) {
  uint64_t at = (correlation * 0x9e3779b97f4a7c15u >> 20) & (self->index_size - 1);
  while (self->index[at] && self->launches[self->index[at] - 1].correlation != correlation)
    at = (at + 1) & (self->index_size - 1);
  return at;
}

void cupti_match_free(cupti_match *self) {
  free(self->launches);
  free(self->index);
  free(self->graph_launches);
  free(self->graphs);
  memset(self, 0, sizeof *self);
}

void cupti_match_reset(cupti_match *self) {
  if (self->index) memset(self->index, 0, self->index_size * sizeof *self->index);
  self->count = self->graph_count = self->pending = self->sets = self->graph_rows = 0;
}

cupti_launch *cupti_match_find(const cupti_match *self, uint64_t correlation) {
  if (!self->index_size) return NULL;
  uint64_t at = slot_of(self, correlation);
  return self->index[at] ? &self->launches[self->index[at] - 1] : NULL;
}

static bool grow_index(cupti_match *self) {
  uint64_t size = self->index_size ? self->index_size * 2 : 1024;
  uint32_t *index = calloc(size, sizeof *index);
  if (!index) return false;
  free(self->index);
  self->index = index;
  self->index_size = size;
  for (uint64_t i = 0; i < self->count; i++) index[slot_of(self, self->launches[i].correlation)] = (uint32_t)(i + 1);
  return true;
}

cupti_launch *cupti_match_add(cupti_match *self, uint64_t correlation) {
  if (self->count * 2 >= self->index_size && !grow_index(self)) return NULL;
  uint64_t at = slot_of(self, correlation);
  if (self->index[at]) return &self->launches[self->index[at] - 1];
  if (self->count == UINT32_MAX - 1 || !PD_ARRAY_FIT(self->launches, self->capacity, self->count + 1)) return NULL;
  self->launches[self->count] = (cupti_launch){.correlation = correlation};
  self->index[at] = (uint32_t)++self->count;
  return &self->launches[self->count - 1];
}

pd_status cupti_match_expect(cupti_match *self, cupti_launch *launch, pd_api_class api) {
  if (api == PD_API_GRAPH_LAUNCH) {
    if (!PD_ARRAY_FIT(self->graph_launches, self->graph_capacity, self->graph_count + 1)) return PD_NO_MEMORY;
    self->graph_launches[self->graph_count++] = (uint64_t)(launch - self->launches);
    launch->is_graph = true;
  }
  launch->pending = true;
  self->pending++;
  self->sets += launch->api == PD_API_MEMSET;
  return PD_OK;
}

static void settle(cupti_match *self, cupti_launch *launch) {
  launch->pending = false;
  self->pending--;
  self->sets -= launch->api == PD_API_MEMSET;
}

static cupti_graph_size *find_graph(const cupti_match *self, uint32_t graph) {
  for (uint64_t i = 0; i < self->graphs_count; i++)
    if (self->graphs[i].graph == graph) return &self->graphs[i];
  return NULL;
}

pd_status cupti_match_seen(cupti_match *self, cupti_launch *launch, uint32_t graph) {
  if (launch->pending) settle(self, launch);
  launch->device_rows++;
  if (!launch->is_graph || !graph) return PD_OK;
  self->graph_rows++;
  launch->graph = graph;
  cupti_graph_size *size = find_graph(self, graph);
  if (!size) {
    if (!PD_ARRAY_FIT(self->graphs, self->graphs_capacity, self->graphs_count + 1)) return PD_NO_MEMORY;
    size = &self->graphs[self->graphs_count++];
    *size = (cupti_graph_size){.graph = graph};
  }
  if (launch->device_rows > size->nodes) size->nodes = launch->device_rows;
  return PD_OK;
}

void cupti_match_captured(cupti_match *self, uint32_t thread, int64_t from_ns, int64_t to_ns) {
  for (uint64_t i = 0; i < self->count; i++) {
    cupti_launch *launch = &self->launches[i];
    if (!launch->pending || launch->thread != thread || launch->start_ns < from_ns || launch->start_ns > to_ns)
      continue;
    settle(self, launch);
  }
}

static uint32_t nodes_due(const cupti_match *self, const cupti_launch *launch) {
  const cupti_graph_size *size = find_graph(self, launch->graph);
  return size && launch->device_rows < size->nodes ? size->nodes - launch->device_rows : 0;
}

uint32_t cupti_match_owes(const cupti_match *self, const cupti_launch *launch) {
  if (launch->pending) return 1;
  return launch->is_graph ? nodes_due(self, launch) : 0;
}

uint64_t cupti_match_nodes(const cupti_match *self) {
  uint64_t nodes = 0;
  for (uint64_t i = 0; i < self->graph_count; i++) {
    const cupti_launch *launch = &self->launches[self->graph_launches[i]];
    if (!launch->pending) nodes += nodes_due(self, launch);
  }
  return nodes;
}

bool cupti_match_only_sets(const cupti_match *self) {
  return self->sets && self->pending == self->sets && !cupti_match_nodes(self);
}

bool cupti_match_complete_for(const cupti_match *self, uint32_t thread) {
  for (uint64_t i = 0; i < self->count; i++) {
    const cupti_launch *launch = &self->launches[i];
    if (launch->thread == thread && cupti_match_owes(self, launch) > 0) return false;
  }
  return true;
}
