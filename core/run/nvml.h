/* The clocks of a GPU, through NVML, which is loaded by name where the driver has brought it along. [loop thread] */
#ifndef CORE_RUN_NVML_H
#define CORE_RUN_NVML_H

#include <stdbool.h>
#include <stdint.h>

typedef struct nvml nvml;

/* GPU `index` as the CUDA runtime numbers it, by CUDA_VISIBLE_DEVICES. NULL: no NVML, or it does not know the GPU. */
nvml *nvml_open(uint32_t index);
void nvml_close(nvml *self);

typedef struct nvml_clocks {
  uint32_t sm_mhz, most_sm_mhz; /* 0: unknown */
  uint64_t reasons;             /* why they are not higher: bits as NVML has them */
} nvml_clocks;
/* False: it cannot be read. */
bool nvml_read(nvml *self, nvml_clocks *out);

/* What the GPU, with all of its board, has used since its driver was loaded, in millijoules. False: it has no such
 * counter. */
bool nvml_energy(nvml *self, uint64_t *out);

/* What the GPU is doing now; NaN: this GPU, driver or NVML does not tell it. */
typedef struct nvml_state {
  double sm_mhz, memory_mhz, celsius, watts;
} nvml_state;
nvml_state nvml_state_now(nvml *self);

/* Bytes a second over PCIe, by the GPU; NaN as above. NVML counts for 20 ms each way, so that the answer takes 40 ms
 * where it is known. */
typedef struct nvml_pcie {
  double sent, received;
} nvml_pcie;
nvml_pcie nvml_pcie_now(nvml *self);

/* For more of NVML: the GPU's handle, and a function by its name, put into the pointer at `slot`. False: this NVML has
 * none of that name. */
typedef struct nvml_device nvml_device;
nvml_device *nvml_handle(const nvml *self);
bool nvml_function(const nvml *self, const char *symbol, void *slot);

/* The reasons in `reasons` that make a GPU slower than it could be: power cap, heat, brake. The power cap is the card's
 * own and comes again in every run; the others are a disturbance. */
uint64_t nvml_slowing(uint64_t reasons);
uint64_t nvml_disturbing(uint64_t reasons);
/* "software power cap, hardware thermal slowdown"; "none". */
const char *nvml_reasons_text(uint64_t reasons, char *text, uint32_t room);

#endif
