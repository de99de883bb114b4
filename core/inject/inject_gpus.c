/* See inject_gpus.h. None of these calls needs a context or waits for the device. */
#include "inject_gpus.h"

#include "devices/cuda/cuda_peaks.h"

#include <cuda.h>

#include <dlfcn.h>
#include <string.h>

typedef struct driver {
  __typeof__(&cuDeviceGetCount) count;
  __typeof__(&cuDeviceGet) get;
  __typeof__(&cuDeviceGetName) name;
  __typeof__(&cuDeviceGetAttribute) attribute;
  CUresult(CUDAAPI *total)(size_t *bytes, CUdevice device);
  __typeof__(&cuDriverGetVersion) version;
} driver;

static bool open_driver(driver *self) {
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (!library) return false;
  *(void **)&self->count = dlsym(library, "cuDeviceGetCount");
  *(void **)&self->get = dlsym(library, "cuDeviceGet");
  *(void **)&self->name = dlsym(library, "cuDeviceGetName");
  *(void **)&self->attribute = dlsym(library, "cuDeviceGetAttribute");
  *(void **)&self->total = dlsym(library, "cuDeviceTotalMem_v2");
  *(void **)&self->version = dlsym(library, "cuDriverGetVersion");
  /* It stays open: the program has it open anyway. */
  return self->count && self->get && self->name && self->attribute && self->total && self->version;
}

static uint32_t attribute(const driver *cuda, CUdevice device, CUdevice_attribute which) {
  int value = 0;
  return cuda->attribute(&value, which, device) == CUDA_SUCCESS && value > 0 ? (uint32_t)value : 0;
}

static bool fill(const driver *cuda, uint32_t index, record_gpu *row) {
  pd_device_props *props = &row->props;
  const struct {
    CUdevice_attribute attribute;
    uint32_t *to;
  } wanted[] = {
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, &props->compute_major},
      {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, &props->compute_minor},
      {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, &props->sm_count},
      {CU_DEVICE_ATTRIBUTE_WARP_SIZE, &props->warp_size},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, &props->max_threads_per_block},
      {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, &props->max_threads_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, &props->registers_per_block},
      {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, &props->registers_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, &props->shared_per_block},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, &props->shared_per_sm},
      {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, &props->shared_per_block_optin},
      {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, &props->shared_reserved_per_block},
      {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, &props->max_blocks_per_sm},
  };
  CUdevice device;
  size_t bytes = 0;
  int version = 0;
  memset(row, 0, sizeof *row);
  if (cuda->get(&device, (int)index) != CUDA_SUCCESS) return false;
  *props = (pd_device_props){.size = sizeof *props, .index = index, .is_cuda = 1};
  if (cuda->name(row->name, (int)sizeof row->name, device) != CUDA_SUCCESS) row->name[0] = '\0';
  if (cuda->total(&bytes, device) == CUDA_SUCCESS) props->total_bytes = bytes;
  if (cuda->version(&version) == CUDA_SUCCESS) props->driver_version = (uint32_t)version;
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
    *wanted[i].to = attribute(cuda, device, wanted[i].attribute);
  cuda_peaks_fill(props, attribute(cuda, device, CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1e3,
                  attribute(cuda, device, CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 1e3,
                  attribute(cuda, device, CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  return true;
}

uint32_t inject_gpus_find(record_gpu rows[INJECT_GPUS]) {
  driver cuda = {0};
  int count = 0;
  uint32_t filled = 0;
  if (!open_driver(&cuda) || cuda.count(&count) != CUDA_SUCCESS) return 0;
  for (uint32_t i = 0; i < INJECT_GPUS && (int)i < count; i++) filled += fill(&cuda, i, &rows[filled]);
  return filled;
}
