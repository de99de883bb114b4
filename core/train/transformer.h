/* The transformer: an encoder of two layers over an image as a sequence of vectors, and a linear head to 1000 classes.
 * There are no embeddings and no positions: a linear layer takes each vector to 128 columns. A layer adds to its input,
 * after LayerNorm, attention of 4 heads, and then two linear layers of 256 and 128 columns with ReLU between. A last
 * LayerNorm, the mean over the vectors, the head. [loop thread] */
#ifndef CORE_TRAIN_TRANSFORMER_H
#define CORE_TRAIN_TRANSFORMER_H

#include "parameters.h"
#include "tape.h"

enum { TRANSFORMER_WIDTH = 128, TRANSFORMER_HIDDEN = 256, TRANSFORMER_HEADS = 4, TRANSFORMER_LAYERS = 2 };

/* Appends embed.*, of each layer norm1.*, q.*, k.*, v.*, out.*, norm2.*, fc1.*, fc2.*, then norm.* and head.*: a weight
 * and a bias each, 38 parameters, for images of `image_size` pixels a side. */
pd_status transformer_build(train_context *c, parameters *all, uint64_t seed, int64_t image_size);
/* logits (N,1000) of x (N,3,S,S), which is of the context's type and NCHW: S vectors of 3 S numbers, as they follow one
 * another in memory. */
pd_status transformer_forward(train_context *c, parameters *all, tape_tensor *x, tape_tensor **logits);

#endif
