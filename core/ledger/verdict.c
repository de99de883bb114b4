/* See verdict.h. */
#include "verdict.h"

#include <stddef.h>

static const char *const keys[VERDICT_COUNT] = {
#define X(key, text, helps) #key,
    VERDICT_MAP(X)
#undef X
};
const char *verdict_key(uint32_t cause) { return keys[cause]; }

static const char *const texts[VERDICT_COUNT] = {
#define X(key, text, helps) text,
    VERDICT_MAP(X)
#undef X
};
const char *verdict_text(uint32_t cause) { return texts[cause]; }

static const char *const all_helps[VERDICT_COUNT] = {
#define X(key, text, helps) helps,
    VERDICT_MAP(X)
#undef X
};
const char *verdict_helps(uint32_t cause) { return all_helps[cause]; }

const char *verdict_server_helps(uint32_t cause) {
  switch (cause) {
  case VERDICT_input_bound:
    return "If requests were there all the time, prepare the next batch while the device works. If not, the server "
           "waited for requests.";
  case VERDICT_forced_sync:
    return "Take calls that wait for the device out of the iteration: item(), cpu(), synchronize(). Read the sampled "
           "tokens while the next iteration runs.";
  case VERDICT_launch_bound:
    return "Make fewer and larger launches: a CUDA graph of the iteration, a compiled model, or more requests in a "
           "batch.";
  case VERDICT_pageable_copy:
    return "Copy an iteration's inputs from pinned memory without blocking: pin_memory(), non_blocking=True at the "
           "copy.";
  case VERDICT_host_compute:
    return "If requests were there all the time, take scheduling, tokenizing and sampling off the thread that "
           "launches, or do them while the device works. If not, the server waited for requests.";
  default: return NULL;
  }
}
