/* The training kit's state, for the files that make up its table. */
#ifndef CORE_TRAIN_KIT_STATE_H
#define CORE_TRAIN_KIT_STATE_H

#include "adamw.h"
#include "caching_allocator.h"
#include "input.h"
#include "losses.h"
#include "scaler.h"
#include "tape.h"
#include "train_kit.h"

struct train_kit {
  train_context c;
  train_config config;
  pd_train table;
  parameters parameters;
  adamw_state adamw;
  scaler_state scaler;
  caching_allocator *cache;
  input input;
  const pd_batch *next; /* to be copied ahead; NULL: none */
  loss_history losses;
  tape_tensor *logits; /* of the last forward pass; the tape's */
  pd_graph *graph;
  pd_tensor graph_images; /* what the graph reads */
  uint64_t random_offset; /* of the next randn's first element */
  uint64_t forward_count;
  int64_t narrow_first, narrow_count; /* samples of the batch that forward takes; count 0: all */
  uint32_t rounds, graph_rounds;      /* of TinyOpsBlock; what the graph holds */
  uint32_t tiny_ops_first;            /* of its parameters */
  bool tiny_ops_block;
  bool told_no_graph;
};

static inline train_kit *kit_state_of(const pd_train *train) { return train->impl; }

/* Functions of pd_train, see pdhost/train.h. */
pd_status kit_tensors_empty_like(const pd_train *train, const pd_tensor *like, pd_allocator allocator, pd_tensor *out);
pd_status kit_tensors_free(const pd_train *train, pd_allocator allocator, pd_tensor *tensor);
pd_status kit_tensors_randn(const pd_train *train, pd_tensor *y);
pd_status kit_tensors_mean(const pd_train *train, pd_tensor *y, const pd_tensor *x);
pd_status kit_tensors_add(const pd_train *train, pd_tensor *y, const pd_tensor *a, const pd_tensor *b, double alpha);

#endif
