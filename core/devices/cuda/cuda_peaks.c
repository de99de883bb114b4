/* See cuda_peaks.h. */
#include "cuda_peaks.h"

void cuda_peaks_fill(pd_device_props *props, double clock_hz, double memory_hz, uint32_t bus_bits) {
  /* Dense operations per clock and multiprocessor. */
  static const struct {
    uint32_t major, minor, f32, tf32, f16;
  } rates[] = {{8, 0, 128, 1024, 2048}, {8, 6, 256, 0, 0}, {8, 9, 256, 0, 0}, {9, 0, 256, 2048, 4096}};
  for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
    if (rates[i].major != props->compute_major || rates[i].minor != props->compute_minor) continue;
    const double clocks = clock_hz * props->sm_count;
    props->peak_f32_flops = clocks * rates[i].f32;
    props->peak_tf32_flops = clocks * rates[i].tf32;
    props->peak_f16_flops = clocks * rates[i].f16;
  }
  props->peak_bytes_per_s = 2.0 * memory_hz * bus_bits / 8.0; /* two transfers a clock */
}
