/*
 * What a GPU did between two looks: its SMs, its memory, PCIe and NVLink, by NVML's GPM (Hopper and later) and its
 * counters of NVLink. [the thread that looks]
 */
#ifndef CORE_RUN_SERIES_GPU_ACTIVITY_H
#define CORE_RUN_SERIES_GPU_ACTIVITY_H

#include "run/nvml.h"

typedef struct gpu_activity gpu_activity;

/* Means since the look before; NaN: this GPU, driver or NVML does not tell it, or there was no look before. */
typedef struct gpu_means {
  double sm_active, sm_occupancy, tensor_active, dram_used;      /* per cent */
  double pcie_sent, pcie_received, nvlink_sent, nvlink_received; /* bytes a second */
} gpu_means;

/* `gpu` stays open for as long. NULL: no memory. */
gpu_activity *gpu_activity_open(nvml *gpu);
void gpu_activity_close(gpu_activity *self);

/* The next look is the first one again. */
void gpu_activity_forget(gpu_activity *self);
/* False: it was the first look, all of *out is NaN. */
bool gpu_activity_look(gpu_activity *self, gpu_means *out);

#endif
