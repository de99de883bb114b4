/*
 * What the searches of this process chose, for its other devices. A search that is timed may end differently each time,
 * and a run that is opened beside another one, to measure what a setting saves, has to differ in that setting alone.
 */
#ifndef DEVICES_CUDA_CONV_CHOICES_H
#define DEVICES_CUDA_CONV_CHOICES_H

#include "conv_plan.h"

/* One device more, or fewer: what was noted is kept while there is one. Any thread. */
void conv_choices_enter(void);
void conv_choices_leave(void);

/* The candidate that another device on the same GPU chose for this key out of the same candidates with the same
 * options, or -1. Any thread. */
int conv_choices_find(const pd_device *device, const conv_key *key, conv_plan *const *candidates, int count);

/* Notes what a search chose. Without memory, or without a device, it is not noted. Any thread. */
void conv_choices_note(const pd_device *device, const conv_key *key, conv_plan *const *candidates, int count,
                       int chosen);

#endif
