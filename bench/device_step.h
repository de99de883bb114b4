/* The plain training step, operation by operation; for bench_device_ops.c. */
#ifndef BENCH_DEVICE_STEP_H
#define BENCH_DEVICE_STEP_H

#include "op_rig.h"

/* Makes the tensors of a mode. */
void device_step_open(op_rig *b, rig_mode m);
/* One step with its copies; `round` from 0 on: each operation is timed. */
void device_step(op_rig *b, int round);
void device_step_close(op_rig *b);

#endif
