/* What a chip can do at most, by its clocks. [any thread] */
#ifndef DEVICES_CUDA_CUDA_PEAKS_H
#define DEVICES_CUDA_CUDA_PEAKS_H

#include <pdhost/device.h>

/* Fills the peaks of `props`, whose compute capability and number of multiprocessors are set. Operations are dense
 * ones, by NVIDIA's tables of throughput per multiprocessor; they stay 0 where the chip is not known. */
void cuda_peaks_fill(pd_device_props *props, double clock_hz, double memory_hz, uint32_t bus_bits);

#endif
