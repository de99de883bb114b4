/* The table of a window's launches by correlation id: open addressing over a list. */
#include "cupti_match.h"

#include <pdhost/array.h>

#include <stdlib.h>
#include <string.h>

static uint64_t slot_of(const cupti_match *match, uint64_t correlation) {
  uint64_t at = (correlation * 0x9e3779b97f4a7c15u >> 20) & (match->index_size - 1);
  while (match->index[at] && match->launches[match->index[at] - 1].correlation != correlation)
    at = (at + 1) & (match->index_size - 1);
  return at;
}

void cupti_match_free(cupti_match *match) {
  free(match->launches);
  free(match->index);
  free(match->graph_launches);
  free(match->graphs);
  memset(match, 0, sizeof *match);
}

void cupti_match_reset(cupti_match *match) {
  if (match->index) memset(match->index, 0, match->index_size * sizeof *match->index);
  match->count = match->graph_count = match->pending = match->graph_rows = 0;
}

cupti_launch *cupti_match_find(const cupti_match *match, uint64_t correlation) {
  if (!match->index_size) return NULL;
  uint64_t at = slot_of(match, correlation);
  return match->index[at] ? &match->launches[match->index[at] - 1] : NULL;
}

static bool grow_index(cupti_match *match) {
  uint64_t size = match->index_size ? match->index_size * 2 : 1024;
  uint32_t *index = calloc(size, sizeof *index);
  if (!index) return false;
  free(match->index);
  match->index = index;
  match->index_size = size;
  for (uint64_t i = 0; i < match->count; i++) index[slot_of(match, match->launches[i].correlation)] = (uint32_t)(i + 1);
  return true;
}

cupti_launch *cupti_match_add(cupti_match *match, uint64_t correlation) {
  if (match->count * 2 >= match->index_size && !grow_index(match)) return NULL;
  uint64_t at = slot_of(match, correlation);
  if (match->index[at]) return &match->launches[match->index[at] - 1];
  if (match->count == UINT32_MAX - 1 || !PD_ARRAY_FIT(match->launches, match->capacity, match->count + 1)) return NULL;
  match->launches[match->count] = (cupti_launch){.correlation = correlation};
  match->index[at] = (uint32_t)++match->count;
  return &match->launches[match->count - 1];
}

pd_status cupti_match_expect(cupti_match *match, cupti_launch *launch, pd_api_class api) {
  if (api == PD_API_GRAPH_LAUNCH) {
    if (!PD_ARRAY_FIT(match->graph_launches, match->graph_capacity, match->graph_count + 1)) return PD_NO_MEMORY;
    match->graph_launches[match->graph_count++] = (uint64_t)(launch - match->launches);
    launch->is_graph = true;
  }
  launch->pending = true;
  match->pending++;
  return PD_OK;
}

static cupti_graph_size *find_graph(const cupti_match *match, uint32_t graph) {
  for (uint64_t i = 0; i < match->graphs_count; i++)
    if (match->graphs[i].graph == graph) return &match->graphs[i];
  return NULL;
}

pd_status cupti_match_seen(cupti_match *match, cupti_launch *launch, uint32_t graph) {
  if (launch->pending) {
    launch->pending = false;
    match->pending--;
  }
  launch->device_rows++;
  if (!launch->is_graph || !graph) return PD_OK;
  match->graph_rows++;
  launch->graph = graph;
  cupti_graph_size *size = find_graph(match, graph);
  if (!size) {
    if (!PD_ARRAY_FIT(match->graphs, match->graphs_capacity, match->graphs_count + 1)) return PD_NO_MEMORY;
    size = &match->graphs[match->graphs_count++];
    *size = (cupti_graph_size){.graph = graph};
  }
  if (launch->device_rows > size->nodes) size->nodes = launch->device_rows;
  return PD_OK;
}

void cupti_match_captured(cupti_match *match, uint32_t thread, int64_t from_ns, int64_t to_ns) {
  for (uint64_t i = 0; i < match->count; i++) {
    cupti_launch *launch = &match->launches[i];
    if (!launch->pending || launch->thread != thread || launch->start_ns < from_ns || launch->start_ns > to_ns)
      continue;
    launch->pending = false;
    match->pending--;
  }
}

static uint32_t nodes_due(const cupti_match *match, const cupti_launch *launch) {
  const cupti_graph_size *size = find_graph(match, launch->graph);
  return size && launch->device_rows < size->nodes ? size->nodes - launch->device_rows : 0;
}

uint32_t cupti_match_owes(const cupti_match *match, const cupti_launch *launch) {
  if (launch->pending) return 1;
  return launch->is_graph ? nodes_due(match, launch) : 0;
}

uint64_t cupti_match_nodes(const cupti_match *match) {
  uint64_t nodes = 0;
  for (uint64_t i = 0; i < match->graph_count; i++) {
    const cupti_launch *launch = &match->launches[match->graph_launches[i]];
    if (!launch->pending) nodes += nodes_due(match, launch);
  }
  return nodes;
}

bool cupti_match_complete_for(const cupti_match *match, uint32_t thread) {
  for (uint64_t i = 0; i < match->count; i++) {
    const cupti_launch *launch = &match->launches[i];
    if (launch->thread == thread && cupti_match_owes(match, launch) > 0) return false;
  }
  return true;
}
