/* The CPU device: entry point, options, properties. Asynchronous like a GPU's driver, with oneDNN underneath. */
#include "cpu_device.h"

#include <pdhost/processors.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>

static const pd_option rows[] = {
    PD_OPTION(cpu_options, threads, .def = "0", .min = "0", .max = "1024", .unit = "threads",
              .help = "threads that compute one operation; 0: one for each core that may be used"),
    PD_OPTION(cpu_options, queue_depth, .def = "1024", .min = "1", .max = "65536", .unit = "launches",
              .help = "launches that may wait on a stream before the caller has to"),
};

static uint64_t total_bytes(void) {
  struct sysinfo info = {0};
  sysinfo(&info);
  return (uint64_t)info.totalram * info.mem_unit;
}

static pd_status open_device(const pd_host *host, const void *options, uint32_t index, pd_device **out) {
  *out = NULL;
  if (index != 0) return host->fail(host, PD_UNSUPPORTED, "there is one CPU device, number 0; %u was asked for", index);
  pd_device *device = calloc(1, sizeof *device);
  if (!device) return host->fail(host, PD_NO_MEMORY, "no memory for the device's state");
  device->host = host;
  device->total_bytes = total_bytes();
  device->record = host->extension(host, PD_EXT_RECORD);
  device->options = *(const cpu_options *)options;
  const dnnl_version_t *version = dnnl_version();
  snprintf(device->name, sizeof device->name, "CPU (oneDNN %d.%d.%d)", version->major, version->minor, version->patch);
  const uint32_t cores = pd_processors_allowed();
  const char *plural = cores == 1 ? "" : "s";
  snprintf(device->versions, sizeof device->versions, "oneDNN %d.%d.%d, %u core%s", version->major, version->minor,
           version->patch, cores, plural);
  if (dnnl_engine_create(&device->engine, dnnl_cpu, 0) != dnnl_success) {
    free(device);
    return host->fail(host, PD_DEVICE, "dnnl_engine_create failed for the CPU");
  }
  if (device->options.threads > cores)
    host->log(host, PD_LOG_WARN,
              "[device] threads = %lld: there %s %u core%s, and more threads than that slow a step down",
              (long long)device->options.threads, cores == 1 ? "is" : "are", cores, plural);
  pthread_mutex_init(&device->lock, NULL);
  pthread_mutex_init(&device->drain_lock, NULL);
  pthread_cond_init(&device->drained, NULL);
  *out = device;
  return PD_OK;
}

static void close_device(pd_device *device) {
  if (!device) return;
  while (device->streams) cpu_stream_ops.destroy(device, device->streams);
  cpu_memory_release(device);
  dnnl_engine_destroy(device->engine);
  pthread_mutex_destroy(&device->lock);
  pthread_mutex_destroy(&device->drain_lock);
  pthread_cond_destroy(&device->drained);
  free(device);
}

static pd_status props(pd_device *device, pd_device_props *out) {
  const uint32_t size = out->size;
  const pd_device_props all = {
      .size = size, .name = device->name, .versions = device->versions, .total_bytes = device->total_bytes};
  memcpy(out, &all, size < sizeof all ? size : sizeof all);
  return PD_OK;
}

/* Small enough for two cores: one computes, one loads. */
static const pd_preset presets[] = {{"data.batch_size", "16"}, {"data.image_size", "16"}, {"data.num_workers", "1"},
                                    {"run.warmup_steps", "3"}, {"device.threads", "1"},   {NULL, NULL}};

PD_DEVICE("cpu", "1.0", "the host's processor behind an asynchronous stream, by oneDNN", cpu_options, rows,
          .open = open_device, .close = close_device, .props = props, .memory = &cpu_memory_ops,
          .stream = &cpu_stream_ops, .tensor = &cpu_tensor_ops, .profile = &cpu_profile_ops, .presets = presets)
