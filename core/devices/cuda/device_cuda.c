/*
 * The CUDA device plugin: opens the device and its libraries, says what it is, forwards the profiling.
 *
 * open and close are the loop thread's. Nothing of CUDA is loaded before open: the runtime is linked statically and
 * looks for the driver on its first call, cuDNN and cuBLASLt are loaded by name, CUPTI by the profiler when it
 * attaches.
 */
#include "cuda_error.h"
#include "cuda_peaks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADVICE "run on the CPU with --device cpu"

/* "580.159.04", from the driver's own file; "" where there is none. */
static void driver_release(char *out, size_t size) {
  char line[256] = "";
  out[0] = '\0';
  FILE *file = fopen("/proc/driver/nvidia/version", "re");
  if (!file) return;
  if (fgets(line, sizeof line, file)) {
    char *rest = NULL;
    for (char *word = strtok_r(line, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
      if (word[0] < '0' || word[0] > '9' || !strchr(word, '.')) continue;
      snprintf(out, size, "%s", word);
      break;
    }
  }
  fclose(file);
}

static uint32_t attribute(int index, enum cudaDeviceAttr which) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, index) != cudaSuccess) (void)cudaGetLastError();
  return value > 0 ? (uint32_t)value : 0;
}

static void fill_peaks(pd_device_props *props) {
  const int index = (int)props->index;
  cuda_peaks_fill(props, attribute(index, cudaDevAttrClockRate) * 1e3,
                  attribute(index, cudaDevAttrMemoryClockRate) * 1e3,
                  attribute(index, cudaDevAttrGlobalMemoryBusWidth));
}

static pd_status fill_props(pd_device *device) {
  struct cudaDeviceProp prop;
  const int index = device->index;
  pd_status status = cuda_check(device, cudaGetDeviceProperties(&prop, index), "cudaGetDeviceProperties");
  if (status != PD_OK) return status;
  snprintf(device->name, sizeof device->name, "%s", prop.name);
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  char release[64];
  driver_release(release, sizeof release);
  const size_t cudnn = device->libraries.cudnn.GetVersion(), cublaslt = device->libraries.cublaslt.GetVersion();
  snprintf(device->versions, sizeof device->versions, "driver %s%sCUDA %d.%d, cuDNN %zu.%zu.%zu, cuBLASLt %zu.%zu.%zu",
           release, release[0] ? ", " : "", driver / 1000, driver % 1000 / 10, cudnn / 10000, cudnn / 100 % 100,
           cudnn % 100, cublaslt / 10000, cublaslt / 100 % 100, cublaslt % 100);
  device->sm_count = (uint32_t)prop.multiProcessorCount;
  device->props = (pd_device_props){.size = sizeof(pd_device_props),
                                    .index = (uint32_t)index,
                                    .name = device->name,
                                    .versions = device->versions,
                                    .total_bytes = prop.totalGlobalMem,
                                    .is_cuda = 1,
                                    .compute_major = (uint32_t)prop.major,
                                    .compute_minor = (uint32_t)prop.minor,
                                    .sm_count = (uint32_t)prop.multiProcessorCount,
                                    .warp_size = (uint32_t)prop.warpSize,
                                    .max_threads_per_block = (uint32_t)prop.maxThreadsPerBlock,
                                    .max_threads_per_sm = (uint32_t)prop.maxThreadsPerMultiProcessor,
                                    .registers_per_block = (uint32_t)prop.regsPerBlock,
                                    .registers_per_sm = (uint32_t)prop.regsPerMultiprocessor,
                                    .shared_per_block = (uint32_t)prop.sharedMemPerBlock,
                                    .shared_per_sm = (uint32_t)prop.sharedMemPerMultiprocessor,
                                    .shared_per_block_optin = (uint32_t)prop.sharedMemPerBlockOptin,
                                    .shared_reserved_per_block = (uint32_t)prop.reservedSharedMemPerBlock,
                                    .max_blocks_per_sm = (uint32_t)prop.maxBlocksPerMultiProcessor,
                                    .driver_version = (uint32_t)driver,
                                    .runtime_version = (uint32_t)runtime};
  fill_peaks(&device->props);
  return PD_OK;
}

/* Says what is missing, in the order in which one would look. */
static pd_status find_device(const pd_host *host, uint32_t index) {
  int driver = 0, count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || !driver)
    return host->fail(host, PD_UNSUPPORTED, "no NVIDIA driver (libcuda.so.1 could not be used); " ADVICE);
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver)
    return host->fail(host, PD_UNSUPPORTED,
                      "the NVIDIA driver is too old: it serves CUDA %d.%d, this build needs %d.%d; " ADVICE,
                      driver / 1000, driver % 1000 / 10, CUDART_VERSION / 1000, CUDART_VERSION % 1000 / 10);
  if (error != cudaSuccess)
    return host->fail(host, PD_UNSUPPORTED, "no CUDA device can be used: %s (%s); " ADVICE, cudaGetErrorString(error),
                      cudaGetErrorName(error));
  if (index >= (uint32_t)count)
    return host->fail(host, PD_UNSUPPORTED, "there is no CUDA device %u: the driver shows %d; " ADVICE, index, count);
  return PD_OK;
}

/* ---- profiling: the profiler's functions take its own state ---- */

static pd_status mark(void *context, uint32_t which) {
  pd_device *device = context;
  pd_status status = PD_OK;
  if (!device->first_stream) return PD_UNSUPPORTED;
  if (!device->marks[which]) status = cuda_stream_ops.event_create(device, &device->marks[which]);
  return status != PD_OK ? status : cuda_stream_ops.event_record(device, device->first_stream, device->marks[which]);
}

static pd_status marks_elapsed_ns(void *context, double *ns) {
  pd_device *device = context;
  if (!device->marks[0] || !device->marks[1]) return PD_INVALID;
  const pd_status status = cuda_stream_ops.event_synchronize(device, device->marks[1]);
  return status != PD_OK ? status : cuda_stream_ops.event_elapsed_ns(device, device->marks[0], device->marks[1], ns);
}

static pd_status profile_attach(pd_device *device, const pd_profile_options *options) {
  atomic_store(&device->profile_memory, options->profile_memory != 0);
  return cuda_profile_attach(device->profile, options);
}
static pd_status profile_start(pd_device *device) { return cuda_profile_start(device->profile); }
static pd_status profile_stop(pd_device *device) { return cuda_profile_stop(device->profile); }
static pd_status profile_drain(pd_device *device, int64_t timeout_ns) {
  return cuda_profile_drain(device->profile, timeout_ns);
}
static pd_status profile_detach(pd_device *device) { return cuda_profile_detach(device->profile); }
static pd_status profile_status(pd_device *device, pd_profile_status *status) {
  return cuda_profile_status(device->profile, status);
}

static const pd_profile_ops profile_ops = {.size = sizeof(pd_profile_ops),
                                           .attach = profile_attach,
                                           .start = profile_start,
                                           .stop = profile_stop,
                                           .drain = profile_drain,
                                           .detach = profile_detach,
                                           .status = profile_status};

/* ---- device ---- */

static void device_close(pd_device *device) {
  if (!device) return;
  cuda_profile_close(device->profile);
  if (device->sm_count && cuda_bind(device) == PD_OK) {
    cudaDeviceSynchronize();
    cuda_convolutions_close(device);
    cuda_matmuls_close(device);
    cuda_blas_close(device);
    for (int i = 0; i < 2; i++) cuda_stream_ops.event_destroy(device, device->marks[i]);
    cudaMemPoolTrimTo(device->pool, 0);
  }
  cuda_libraries_close(&device->libraries);
  pthread_mutex_destroy(&device->lock);
  free(device);
}

static pd_status device_open(const pd_host *host, const void *options, uint32_t index, pd_device **out) {
  *out = NULL;
  pd_status status = find_device(host, index);
  if (status != PD_OK) return status;
  pd_device *device = calloc(1, sizeof *device);
  if (!device) return host->fail(host, PD_NO_MEMORY, "cuda: no memory for the device");
  pthread_mutex_init(&device->lock, NULL);
  device->host = host;
  device->record = host->extension(host, PD_EXT_RECORD);
  device->options = *(const cuda_options *)options;
  device->index = (int)index;
  status = cuda_libraries_open(host, &device->libraries);
  if (status != PD_OK) goto out;
  status = cuda_bind_first(device);
  if (status != PD_OK) goto out;
  status = fill_props(device);
  if (status != PD_OK) goto out;
  /* The pool gives nothing back to the system between steps. */
  uint64_t keep = UINT64_MAX;
  status = cuda_check(device, cudaDeviceGetDefaultMemPool(&device->pool, device->index), "cudaDeviceGetDefaultMemPool");
  if (status != PD_OK) goto out;
  status = cuda_check(device, cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &keep),
                      "cudaMemPoolSetAttribute");
  if (status != PD_OK) goto out;
  const cuda_profile_config config = {.host = host,
                                      .record = device->record,
                                      .props = &device->props,
                                      .settings = {.cupti_between = device->options.cupti_between,
                                                   .cupti_library = device->options.cupti_library,
                                                   .cupti_memory = device->options.cupti_memory},
                                      .events = {.context = device, .mark = mark, .elapsed_ns = marks_elapsed_ns}};
  status = cuda_profile_open(&config, &device->profile);
out:
  if (status != PD_OK)
    device_close(device);
  else
    *out = device;
  return status;
}

static pd_status device_props(pd_device *device, pd_device_props *props) {
  const uint32_t size = props->size < sizeof *props ? props->size : (uint32_t)sizeof *props;
  device->props.cupti_version = cuda_profile_cupti_version(device->profile);
  if (device->props.cupti_version) {
    snprintf(device->versions_now, sizeof device->versions_now, "%s, CUPTI %u", device->versions,
             device->props.cupti_version);
    device->props.versions = device->versions_now;
  }
  memcpy(props, &device->props, size);
  props->size = size;
  return PD_OK;
}

static const pd_option option_rows[] = {
    CUDA_PROFILE_ROWS(cuda_options),
    PD_OPTION_CHOICE(cuda_options, conv_search, .def = "timed",
                     .choices = (const char *const[]){"heuristic", "timed", "exhaustive", NULL},
                     .help = "how a convolution's algorithm is chosen at its first call: cuDNN's first proposal, the "
                             "fastest of its proposals, or of all engines that compile at run time too"),
    PD_OPTION_BYTES(cuda_options, conv_workspace, .def = "2GiB", .min = "0", .max = "16GiB", .unit = "bytes",
                    .help = "most device memory that one convolution may use as workspace"),
};

PD_DEVICE("cuda", "1.0", "NVIDIA GPU: cuDNN, cuBLASLt and kernels of our own, profiled with CUPTI", cuda_options,
          option_rows, .open = device_open, .close = device_close, .props = device_props, .memory = &cuda_memory_ops,
          .stream = &cuda_stream_ops, .tensor = &cuda_tensor_ops, .profile = &profile_ops)
