/* What the tests of correlation share. */
#ifndef TESTS_TRACE_CORRELATE_RIG_H
#define TESTS_TRACE_CORRELATE_RIG_H

#include "recorder_rig.h"

#include <pthread.h>
#include <string.h>

static const recorder_options plain = {.max_bytes = 16 << 20};

static inline void give_realtime(rig *self, pd_activity activity) {
  activity.start += RIG_REALTIME;
  activity.end += RIG_REALTIME;
  self->record->activities(self->record, PD_CLOCK_REALTIME, &activity, 1);
}

#endif
