/* What the GPUs of this process are, by the driver that it has loaded. */
#ifndef CORE_INJECT_INJECT_GPUS_H
#define CORE_INJECT_INJECT_GPUS_H

#include "capture/record_board.h"

enum { INJECT_GPUS = 32 };

/* How many were filled in; 0 where the driver does not tell. CUDA is initialised. [the collector's thread] */
uint32_t inject_gpus_find(record_gpu rows[INJECT_GPUS]);

#endif
