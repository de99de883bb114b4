/* CUPTI's buffer callbacks, which carry no argument of ours: they serve the one receiver that is in use. */
#ifndef DEVICES_CUDA_CUPTI_CALLBACKS_H
#define DEVICES_CUDA_CUPTI_CALLBACKS_H

#include "cupti_api.h"
#include "cupti_buffers.h"

#include <semaphore.h>
#include <stdbool.h>

typedef struct cupti_receiver {
  cupti_buffers pool;
  sem_t work; /* posted: a buffer is complete, or the pool is low */
} cupti_receiver;

/* Puts the receiver to use. False: another is in use. [loop thread] */
bool cupti_callbacks_begin(cupti_receiver *self);
/* Ends its use, if it was in use, once no callback is under way. [loop thread] */
void cupti_callbacks_end(cupti_receiver *self);

/* A forked child has CUPTI's state but none of its threads, nor ours: it is noticed from the first call of
 * cupti_callbacks_watch_forks() on. [any thread] */
void cupti_callbacks_watch_forks(void);
bool cupti_callbacks_forked(void);

/* For cuptiActivityRegisterCallbacks. [any thread, inside CUPTI] */
void CUPTIAPI cupti_callbacks_request(uint8_t **buffer, size_t *bytes, size_t *max_records);
void CUPTIAPI cupti_callbacks_complete(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid);

#endif
