/* See sort_keys.h. */
#include "sort_keys.h"

#include <stddef.h>
#include <string.h>

const char *sort_key_of(const char *table, const char *sort_by, const char *sorted_by) {
  static const struct {
    const char *name, *key;
  } keys[] = {{"cuda_time", "device_time"},
              {"cuda_time_total", "device_time_total"},
              {"self_cuda_time_total", "self_device_time_total"},
              {"cuda_memory_usage", "device_memory_usage"},
              {"self_cuda_memory_usage", "self_device_memory_usage"},
              {"CPUTotal", "cpu_total"},
              {"CPUAvg", "cpu_avg"},
              {"CPUMax", "cpu_max"},
              {"CPUMin", "cpu_min"},
              {"GPUTotal", "gpu_total"},
              {"GPUAvg", "gpu_avg"},
              {"GPUMax", "gpu_max"},
              {"GPUMin", "gpu_min"}};
  static const char *const sorted[] = {"operator_summary", "kernels", "memcpy", "userdefined", "modules"};
  const char *name = NULL;
  if (!strcmp(table, "operators")) name = sort_by;
  for (size_t i = 0; i < sizeof sorted / sizeof *sorted; i++)
    if (!strcmp(table, sorted[i])) name = sorted_by;
  for (size_t i = 0; name && i < sizeof keys / sizeof *keys; i++)
    if (!strcmp(name, keys[i].name)) return keys[i].key;
  return name;
}
