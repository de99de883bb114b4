/* Finds and opens libcupti and fills the table. Called by the loop thread, once per process unless it failed. */
#include "cupti_api.h"

#include "comma_list.h"
#include "cupti_places.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks that records are as long as this build thinks, with the library's own iterator. No device is needed. */
static pd_status check_layout(const cupti_api *self, char *why, size_t why_bytes) {
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
    if (self->ActivityGetNextRecord(buffer.bytes, sizeof buffer.bytes, &record) == CUPTI_SUCCESS)
      (void)self->ActivityGetNextRecord(buffer.bytes, sizeof buffer.bytes, &record);
    size_t stride = record ? (size_t)((uint8_t *)record - buffer.bytes) : 0;
    /* A newer library's records are longer: they grow at the end, and the iterator knows by how much. */
    if (stride < rows[i].bytes) {
      snprintf(why, why_bytes, "CUPTI %u lays %s records out in %zu bytes, and %zu are needed; use a newer one",
               self->version, rows[i].name, stride, rows[i].bytes);
      return PD_UNSUPPORTED;
    }
  }
  return PD_OK;
}

/* Fills the table from the library, and checks both. */
static pd_status fill(cupti_api *self, char *why, size_t why_bytes) {
#define X(name)                                                                                                        \
  *(void **)&self->name = dlsym(self->library, "cupti" #name);                                                         \
  if (!self->name) {                                                                                                   \
    snprintf(why, why_bytes, "it has no cupti" #name "; a CUPTI of CUDA 13.0 Update 1 or newer is needed");            \
    return PD_UNSUPPORTED;                                                                                             \
  }
  CUPTI_REQUIRED_MAP(X)
#undef X
#define X(name) *(void **)&self->name = dlsym(self->library, "cupti" #name);
  CUPTI_OPTIONAL_MAP(X)
#undef X
  CUptiResult result = self->GetVersion(&self->version);
  if (result != CUPTI_SUCCESS) {
    snprintf(why, why_bytes, "cuptiGetVersion: %s", cupti_api_explain(self, result));
    return PD_DEVICE;
  }
  if (self->version < CUPTI_OLDEST_VERSION) {
    snprintf(why, why_bytes, "CUPTI version %u is too old; %u (CUDA 13.0 Update 1) or newer is needed", self->version,
             CUPTI_OLDEST_VERSION);
    return PD_UNSUPPORTED;
  }
  return check_layout(self, why, why_bytes);
}

/* What becomes of the files that are looked for. */
typedef struct search {
  cupti_api *api;
  char refused[512]; /* those that were opened, each with what is wrong with it */
  char tried[1024];  /* those that could not be opened */
} search;

/* The file that the library was loaded from, links followed: one library may lie under many names. */
static void file_of(void *library, char file[PATH_MAX]) {
  struct link_map *map = NULL;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) || !realpath(map->l_name, file)) snprintf(file, PATH_MAX, "its file");
}

static bool is_refused(const search *at, const char *file) {
  char entry[PATH_MAX + 8];
  snprintf(entry, sizeof entry, ", %s (", file);
  return strstr(at->refused, entry) || strstr(at->refused, entry + 2) == at->refused;
}

/* Whether the file is a CUPTI that will do; the table is filled then, and zero otherwise. */
static bool try_file(search *at, const char *path) {
  char file[PATH_MAX], why[256];
  at->api->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!at->api->library) {
    comma_list_add(at->tried, sizeof at->tried, "%s", path);
    return false;
  }
  file_of(at->api->library, file);
  if (!is_refused(at, file)) {
    if (fill(at->api, why, sizeof why) == PD_OK) return true;
    comma_list_add(at->refused, sizeof at->refused, "%s (%s)", file, why);
  }
  dlclose(at->api->library); /* it was given no callback yet, so nothing of it is in use */
  memset(at->api, 0, sizeof *at->api);
  return false;
}

static bool try_folder(void *user, const char *folder) {
  char path[PATH_MAX];
  for (const char *const *file = cupti_places_files; *file; file++)
    if ((size_t)snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/" : "", *file) < sizeof path &&
        try_file(user, path))
      return true;
  return false;
}

pd_status cupti_api_load(cupti_api *self, const char *path, char *why, size_t why_bytes) {
  search at = {.api = self};
  const bool named = path && *path;
  memset(self, 0, sizeof *self);
  if (named ? try_file(&at, path) : cupti_places_visit(try_folder, &at)) return PD_OK;
  if (at.refused[0])
    snprintf(why, why_bytes, "no CUPTI that was found will do: %s", at.refused);
  else if (named)
    snprintf(why, why_bytes, "CUPTI cannot be loaded: %s", dlerror());
  else
    snprintf(why, why_bytes, "no CUPTI library found; tried %s", at.tried);
  return PD_UNSUPPORTED;
}

const char *cupti_api_explain(const cupti_api *self, CUptiResult result) {
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
  if (self->GetResultString && self->GetResultString(result, &text) == CUPTI_SUCCESS && text) return text;
  return "unknown error";
}
