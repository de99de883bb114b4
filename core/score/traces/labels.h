/*
 * What is known, or said, of traces: one JSON object for each, a line each or in a list.
 *
 *   {"trace": "a.json.gz", "cause": "input_bound", "gains": {"input_bound": 0.28, "launch_bound": 0.03}}
 *
 * `gains` are the shares of the step that it takes less without a cause. A label may give what corpus/pytorch measures
 * in their place: `effect_share` of the injected `cause`, and `graph_share` (or `control_as_graph_share`) of the step
 * without it: then launching gains (1 - effect_share) * graph_share. The cause of a label follows from its gains; the
 * cause of an answer is what the tool says, and `sure` is false where it hedges. Causes are those of pdhost list
 * causes; a tool may use others.
 *
 * A label may have the blocks that its shares are medians of: `effect_blocks` and `graph_blocks`. They tell how sure
 * its cause is: by the share of draws, each of as many blocks with repetition, that have it (Efron, Bootstrap methods,
 * Ann. Stat. 7 (1979)).
 *
 * A label with a graph's share and another cause than launching measured launching by a CUDA graph, which keeps all
 * kernels. An answer that tells what a graph saves (`graph_gain`) is held against it with that. [loop thread]
 */
#ifndef CORE_SCORE_LABELS_H
#define CORE_SCORE_LABELS_H

#include "base/arena.h"
#include "base/error.h"

enum { LABEL_GAINS = 16, LABEL_BLOCKS = 64, LABEL_DRAWS = 1000 };
/* The share of the draws that a label needs to be sure. */
#define LABEL_SURE 0.95

typedef struct label_gain {
  const char *cause;
  double share;
} label_gain;

typedef struct label {
  const char *trace;
  const char *cause; /* "none": nothing */
  label_gain gains[LABEL_GAINS];
  uint32_t gain_count;
  double graph;    /* an answer: what a CUDA graph of the same kernels saves; NaN: it does not say */
  bool by_graph;   /* a label: launching was measured by such a graph */
  bool is_unsure;  /* an answer that the tool hedges */
  double agreeing; /* a label: the share of the draws of its blocks that have its cause; NaN: it has no blocks */
} label;

typedef struct labels {
  label *all;
  uint32_t count, room;
  arena texts;
} labels;

/* A gain below `least` makes no cause: of a label the cause with the largest gain, else "none". NaN: the file is of
 * answers, and every cause is as it says. False: `err` says which line is wrong. Free it in any case. */
bool labels_read(const char *path, double least, labels *out, error *err);
void labels_free(labels *self);
/* The label of this trace; NULL: none. */
const label *labels_find(const labels *self, const char *trace);

#endif
