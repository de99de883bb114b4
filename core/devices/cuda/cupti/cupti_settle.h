/* The part of the decoder that ties device records to their calls: what waits for what, and what is handed on. The
 * decoder's thread alone. */
#ifndef DEVICES_CUDA_CUPTI_SETTLE_H
#define DEVICES_CUDA_CUPTI_SETTLE_H

#include "cupti_decode.h"

void cupti_settle_lose(const cupti_decoder *self, pd_loss loss, uint64_t count);
/* Adds a row to the batch, which is handed on when it is full; hands on what is in it. */
void cupti_settle_hand_on(cupti_decoder *self, const pd_activity *row);
void cupti_settle_flush(cupti_decoder *self);

void cupti_settle_wait(cupti_decoder *self, cupti_pending_list *list, const pd_activity *row);
/* The graph that a device record is of; 0: none. */
uint32_t cupti_settle_graph_of(const pd_activity *row);
/* Ties a device record to its call and hands it on. False: the call has not come yet. */
bool cupti_settle_place(cupti_decoder *self, pd_activity *row, uint32_t graph);

/* Driver calls wait until it is certain that no runtime call around them has the same id. */
void cupti_settle_drivers(cupti_decoder *self);
/* As the window closes: records from before it began, by the clocks; then those under the id of several calls. */
void cupti_settle_early(cupti_decoder *self);
void cupti_settle_shared(cupti_decoder *self);
/* A call under the id of `launch`, another call, gets an id of its own; their device records wait for the window's end.
 * NULL on no memory. */
cupti_launch *cupti_settle_part(cupti_decoder *self, cupti_launch *launch, int64_t start_ns, pd_api_class api);

#endif
