/* Finds and opens libcupti and fills the table. Called by the loop thread, once per process unless it failed. */
#include "cupti_api.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const sonames[] = {"libcupti.so.13", "libcupti.so.12"};
enum { SONAME_COUNT = sizeof sonames / sizeof sonames[0] };

static void append(char *text, size_t bytes, const char *what) {
  size_t used = strlen(text);
  if (used < bytes) snprintf(text + used, bytes - used, "%s%s", used ? ", " : "", what);
}

/* Opens one file; the names tried go to `tried`. */
static void *open_file(const char *path, char *tried, size_t tried_bytes) {
  void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) append(tried, tried_bytes, path);
  return library;
}

static void *open_in(const char *folder, const char *suffix, char *tried, size_t tried_bytes) {
  char path[4096];
  for (int i = 0; i < SONAME_COUNT; i++) {
    if ((size_t)snprintf(path, sizeof path, "%s%s/%s", folder, suffix, sonames[i]) >= sizeof path) continue;
    void *library = open_file(path, tried, tried_bytes);
    if (library) return library;
  }
  return NULL;
}

/* The folder that the process took a library of CUDA's from: the CUPTI of the same toolkit lies beside it. The device
 * carries its runtime inside, so cuBLAS answers too. */
static int find_runtime(struct dl_phdr_info *info, size_t bytes, void *folder) {
  (void)bytes;
  const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  if (!slash || (strncmp(slash, "/libcudart.so", 13) != 0 && strncmp(slash, "/libcublasLt.so", 15) != 0)) return 0;
  snprintf(folder, 4096, "%.*s", (int)(slash - info->dlpi_name), info->dlpi_name);
  return 1;
}

static void *open_beside_runtime(char *tried, size_t tried_bytes) {
  static const char *const suffixes[] = {"", "/../extras/CUPTI/lib64", "/../../cuda_cupti/lib",
                                         "/../../../extras/CUPTI/lib64"};
  char folder[4096] = "";
  if (!dl_iterate_phdr(find_runtime, folder)) return NULL;
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
    void *library = open_in(folder, suffixes[i], tried, tried_bytes);
    if (library) return library;
  }
  return NULL;
}

static void *open_toolkit(const char *home, char *tried, size_t tried_bytes) {
  static const char *const suffixes[] = {"/extras/CUPTI/lib64", "/lib64", "/lib", "/targets/x86_64-linux/lib"};
  if (!home || !*home) return NULL;
  for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++) {
    void *library = open_in(home, suffixes[i], tried, tried_bytes);
    if (library) return library;
  }
  return NULL;
}

/* Python's wheels bring CUPTI too. */
static void *open_wheel(char *tried, size_t tried_bytes) {
  static const char *const patterns[] = {
      "/usr/lib/python3*/site-packages/nvidia/c*/lib/libcupti.so.1[23]",
      "/usr/local/lib/python3*/*-packages/nvidia/c*/lib/libcupti.so.1[23]",
      "/opt/*/lib/python3*/site-packages/nvidia/c*/lib/libcupti.so.1[23]",
      "/opt/*/.venv/lib/python3*/site-packages/nvidia/c*/lib/libcupti.so.1[23]",
  };
  void *library = NULL;
  for (size_t p = 0; p < sizeof patterns / sizeof patterns[0] && !library; p++) {
    glob_t found;
    if (glob(patterns[p], 0, NULL, &found)) continue;
    for (size_t i = found.gl_pathc; i > 0 && !library; i--) /* the newest version sorts last */
      library = open_file(found.gl_pathv[i - 1], tried, tried_bytes);
    globfree(&found);
  }
  return library;
}

static void *open_anywhere(char *tried, size_t tried_bytes) {
  void *library = open_beside_runtime(tried, tried_bytes);
  for (int i = 0; i < SONAME_COUNT && !library; i++) library = open_file(sonames[i], tried, tried_bytes);
  if (!library) library = open_toolkit(getenv("CUDA_HOME"), tried, tried_bytes);
  if (!library) library = open_toolkit(getenv("CUDA_PATH"), tried, tried_bytes);
  if (!library) library = open_toolkit("/usr/local/cuda", tried, tried_bytes);
  if (!library) library = open_wheel(tried, tried_bytes);
  return library;
}

/* The file that the library was loaded from. */
static const char *file_of(const cupti_api *api) {
  Dl_info about;
  return dladdr(*(void *const *)&api->GetVersion, &about) && about.dli_fname ? about.dli_fname : "its file";
}

/* Fills the table from the library, and checks both. */
static pd_status fill(cupti_api *api, char *why, size_t why_bytes) {
#define X(name)                                                                                                        \
  *(void **)&api->name = dlsym(api->library, "cupti" #name);                                                           \
  if (!api->name) {                                                                                                    \
    snprintf(why, why_bytes, "the CUPTI library has no cupti" #name "; a CUPTI of CUDA 12.9 or newer is needed");      \
    return PD_UNSUPPORTED;                                                                                             \
  }
  CUPTI_REQUIRED_MAP(X)
#undef X
#define X(name) *(void **)&api->name = dlsym(api->library, "cupti" #name);
  CUPTI_OPTIONAL_MAP(X)
#undef X
  CUptiResult result = api->GetVersion(&api->version);
  if (result != CUPTI_SUCCESS) {
    snprintf(why, why_bytes, "cuptiGetVersion: %s", cupti_api_explain(api, result));
    return PD_DEVICE;
  }
  if (api->version < CUPTI_OLDEST_VERSION) {
    snprintf(why, why_bytes, "CUPTI version %u (%s) is too old; %u (CUDA 12.9) or newer is needed", api->version,
             file_of(api), CUPTI_OLDEST_VERSION);
    return PD_UNSUPPORTED;
  }
  return cupti_api_check_layout(api, why, why_bytes);
}

pd_status cupti_api_load(cupti_api *api, const char *path, char *why, size_t why_bytes) {
  char tried[1024] = "";
  memset(api, 0, sizeof *api);
  if (path && *path) {
    api->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!api->library) {
      snprintf(why, why_bytes, "CUPTI cannot be loaded: %s", dlerror());
      return PD_UNSUPPORTED;
    }
  } else {
    api->library = open_anywhere(tried, sizeof tried);
    if (!api->library) {
      snprintf(why, why_bytes, "no CUPTI library found; set cupti_library or CUDA_HOME; tried %s", tried);
      return PD_UNSUPPORTED;
    }
  }
  const pd_status status = fill(api, why, why_bytes);
  if (status != PD_OK) { /* it was given no callback yet, so nothing of it is in use */
    dlclose(api->library);
    memset(api, 0, sizeof *api);
  }
  return status;
}

pd_status cupti_api_check_layout(const cupti_api *api, char *why, size_t why_bytes) {
  static const struct {
    CUpti_ActivityKind kind;
    size_t bytes;
    const char *name;
  } rows[] = {
      {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, sizeof(CUpti_ActivityKernel10), "kernel"},
      {CUPTI_ACTIVITY_KIND_MEMCPY, sizeof(CUpti_ActivityMemcpy6), "memcpy"},
      {CUPTI_ACTIVITY_KIND_MEMCPY2, sizeof(CUpti_ActivityMemcpyPtoP4), "peer memcpy"},
      {CUPTI_ACTIVITY_KIND_MEMSET, sizeof(CUpti_ActivityMemset4), "memset"},
      {CUPTI_ACTIVITY_KIND_RUNTIME, sizeof(CUpti_ActivityAPI), "runtime"},
      {CUPTI_ACTIVITY_KIND_DRIVER, sizeof(CUpti_ActivityAPI), "driver"},
      {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, sizeof(CUpti_ActivitySynchronization2), "synchronization"},
      {CUPTI_ACTIVITY_KIND_OVERHEAD, sizeof(CUpti_ActivityOverhead3), "overhead"},
  };
  union {
    uint8_t bytes[2048];
    CUpti_Activity first;
  } buffer;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    /* The kind wherever a record may begin, so that the iterator finds a second one at its own distance. */
    CUpti_Activity *record = NULL;
    memset(&buffer, 0, sizeof buffer);
    for (size_t at = 0; at < sizeof buffer; at += 8) memcpy(buffer.bytes + at, &rows[i].kind, sizeof rows[i].kind);
    if (api->ActivityGetNextRecord(buffer.bytes, sizeof buffer.bytes, &record) == CUPTI_SUCCESS)
      (void)api->ActivityGetNextRecord(buffer.bytes, sizeof buffer.bytes, &record);
    size_t stride = record ? (size_t)((uint8_t *)record - buffer.bytes) : 0;
    /* A newer library's records are longer: they grow at the end, and the iterator knows by how much. */
    if (stride < rows[i].bytes) {
      snprintf(why, why_bytes,
               "CUPTI %u lays %s records out in %zu bytes, this build expects %zu; rebuild pdhost with "
               "that toolkit's headers",
               api->version, rows[i].name, stride, rows[i].bytes);
      return PD_UNSUPPORTED;
    }
  }
  return PD_OK;
}

const char *cupti_api_explain(const cupti_api *api, CUptiResult result) {
  const char *text = NULL;
  switch ((int)result) {
  case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    return "no permission to profile (CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, 35); see nvidia.com/ERR_NVGPUCTRPERM";
  case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    return "no profiling on this virtual GPU (33); ask for a vGPU type with profiling";
  case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
    return "profiling is not enabled for this virtual GPU (40); enable it in the vGPU's plugin parameters";
  case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
    return "another profiler uses CUPTI (39); run without it to see device records here";
  case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
    return "another profiling interface is active in this process (36); run without it";
  case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED: return "no profiling under confidential computing (41)";
  case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED: return "no profiling on this mining GPU (42)";
  case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED: return "no profiling on this MIG slice (43)";
  case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED: return "no profiling with SLI enabled (44)";
  case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED: return "no profiling under this WSL (45)";
  case CUPTI_ERROR_NOT_SUPPORTED: return "not supported on this system or device (27)";
  case CUPTI_ERROR_OUT_OF_MEMORY: return "out of memory (8)";
  default: break;
  }
  if (api->GetResultString && api->GetResultString(result, &text) == CUPTI_SUCCESS && text) return text;
  return "unknown error";
}
