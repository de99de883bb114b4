/* The system as the tests of faults want it: see faults_system.c. */
#ifndef TESTS_DEVICES_CUPTI_FAULTS_SYSTEM_H
#define TESTS_DEVICES_CUPTI_FAULTS_SYSTEM_H

#include "collect_fixture.h"

extern _Atomic int64_t realtime_step_ns; /* added to CLOCK_REALTIME */
extern _Atomic int hold_ups;             /* readings of the clock that other threads take 6 ms for */
extern _Thread_local bool held_inside;   /* this thread is held inside its next callback, until `let_go` */
extern _Atomic bool inside_now, let_go, closed;
extern _Atomic int mapped_beside; /* large buffers that another thread than the first mapped */

#endif
