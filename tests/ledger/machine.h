/* Random programs of lanes, streams, events and blocking calls, and a discrete-event simulation that runs them. It
 * shares no code with the replay, and nothing but what is removed. */
#ifndef TESTS_LEDGER_MACHINE_H
#define TESTS_LEDGER_MACHINE_H

#include "ledger/replay.h"

enum { MOST_OPS = 48, MOST_LANES = 3, MOST_STREAMS = 6, MOST_EDGES = 128, MOST_STEPS = 3 };

typedef struct operation {
  int64_t host_ns, own_ns, tail_ns; /* host_ns: of a call that blocks, what it takes where its owner is removed: 0 */
  int64_t kernel_ns, merged_ns, longest_ns, fixed_ns, latency_ns, gap_ns, fixed_gap_ns, own_gap_ns, edge_ns;
  uint32_t lane, stream; /* REPLAY_NONE: launches nothing */
  uint32_t step;
  uint32_t waits[2], wait_count;
  bool apart[2];
  bool blocks, drains;
  bool joined; /* launched by the call of the next operation, as kernels of one graph are; takes no time of the host */
  uint32_t awaited; /* operation */
  replay_owners owner, owners, pauses;
  bool later_pass, later_record, scaled, by_call, delayed;
  bool inside;                                      /* of a recorded graph: the recorder's gap is there or not */
  bool outside;                                     /* of a captured graph, wherever its call is */
  int64_t start_ns, kernel_start_ns, kernel_end_ns; /* of the last simulation */
  bool launched, done;
} operation;

typedef struct machine {
  operation ops[MOST_OPS];
  uint32_t count, lanes, streams, steps;
  int64_t usual_latency_ns, usual_gap_ns; /* of a record that is not delayed */
  double inside;                          /* of the recorder's gaps within graphs, what stays without it */
  int64_t clocks[MOST_LANES];             /* of the last simulation: the end of each lane */
} machine;

/* Where all draws come from. */
extern uint64_t machine_seed;
int64_t machine_draw(int64_t most); /* 0..most */
bool machine_chance(int64_t percent);

void machine_make(machine *self);
void machine_simulate(machine *self, const replay_variant *variant);
/* Whether what the operation launches is removed. */
bool machine_is_gone(const operation *op, const replay_variant *variant);
/* When step `step` ends, by the last simulation: its host on lane 0, or the records launched before it. */
int64_t machine_step_end(const machine *self, const replay_variant *variant, uint32_t step);

#endif
