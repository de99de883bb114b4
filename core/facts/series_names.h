/* The names of a run's own series (pdhost/series_counters.h), and what one value of each tells, for the table of them.
 */
#ifndef CORE_FACTS_SERIES_NAMES_H
#define CORE_FACTS_SERIES_NAMES_H

#define SERIES_SINCE "mean since the look before"
#define SERIES_NVML_20_MS "mean of 20 ms at the look; 1 KiB/s"

/* X(id, name of the counter, what a value is and how fine) */
#define SERIES_MAP(X)                                                                                                  \
  X(PROCESS_MEMORY, "process memory, bytes", "at the look; whole pages")                                               \
  X(LOADER_MEMORY, "loader batches, bytes", "at the look; room for batches, exact")                                    \
  X(PROCESS_CORES, "process, cores busy", SERIES_SINCE)                                                                \
  X(PROCESSOR_POWER, "processors power, W", SERIES_SINCE "; the counter moves once a millisecond")                     \
  X(SM_CLOCK, "GPU SM clock, MHz", "at the look; 1 MHz")                                                               \
  X(MEMORY_CLOCK, "GPU memory clock, MHz", "at the look; 1 MHz")                                                       \
  X(TEMPERATURE, "GPU temperature, C", "at the look; 1 degree")                                                        \
  X(POWER, "GPU power, W", "the driver's mean, on recent GPUs of 1 s; 1 mW")                                           \
  X(SM_ACTIVE, "GPU SMs active, %", SERIES_SINCE)                                                                      \
  X(SM_OCCUPANCY, "GPU SM occupancy, %", SERIES_SINCE)                                                                 \
  X(TENSOR, "GPU tensor cores active, %", SERIES_SINCE)                                                                \
  X(DRAM, "GPU memory bandwidth used, %", SERIES_SINCE)                                                                \
  X(PCIE_SENT, "GPU PCIe sent, bytes/s", SERIES_SINCE)                                                                 \
  X(PCIE_RECEIVED, "GPU PCIe received, bytes/s", SERIES_SINCE)                                                         \
  X(PCIE_SENT_20_MS, "GPU PCIe sent in 20 ms, bytes/s", SERIES_NVML_20_MS)                                             \
  X(PCIE_RECEIVED_20_MS, "GPU PCIe received in 20 ms, bytes/s", SERIES_NVML_20_MS)                                     \
  X(NVLINK_SENT, "GPU NVLink sent, bytes/s", SERIES_SINCE)                                                             \
  X(NVLINK_RECEIVED, "GPU NVLink received, bytes/s", SERIES_SINCE)

enum {
#define SERIES_ID(id, name, resolution) SERIES_##id,
  SERIES_MAP(SERIES_ID)
#undef SERIES_ID
      SERIES_COUNT
};

/* "thread NAME, cores busy": one for each name of threads. */
#define SERIES_THREAD_FORMAT "thread %s, cores busy"

/* What a value of this series is; NULL: not known, as of a series of an older capture. */
const char *series_resolution(const char *name);

#endif
