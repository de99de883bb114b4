/* Loads cuDNN and cuBLASLt. A library found by the loader's own rules wins; then the toolkit's folder is tried. */
#include "libraries.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define ADVICE "set LD_LIBRARY_PATH to its folder, or run on the CPU with --device cpu"

/* The first of `names` that loads; `error` receives what dlopen said of the first name. */
static void *open_first(const char *const *names, char *error, size_t error_size) {
  error[0] = '\0';
  for (int i = 0; names[i]; i++) {
    void *handle = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (handle) return handle;
    const char *said = dlerror();
    if (!error[0]) snprintf(error, error_size, "%s", said ? said : "no reason given");
  }
  return NULL;
}

static pd_status load(const pd_host *host, void *handle, const char *symbol, void *slot) {
  void *address = dlsym(handle, symbol);
  if (!address)
    return host->fail(host, PD_UNSUPPORTED, "%s is missing in the library that was loaded: it is too old; " ADVICE,
                      symbol);
  memcpy(slot, &address, sizeof address);
  return PD_OK;
}

pd_status cuda_libraries_open(const pd_host *host, cuda_libraries *libraries) {
  static const char *const cudnn_names[] = {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9", NULL};
  static const char *const cublaslt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                               "/usr/local/cuda/lib64/libcublasLt.so.13", NULL};
  char error[512];
  pd_status status = PD_OK;
  *libraries = (cuda_libraries){0};
  libraries->cudnn_handle = open_first(cudnn_names, error, sizeof error);
  if (!libraries->cudnn_handle)
    return host->fail(host, PD_UNSUPPORTED, "cuDNN 9 (libcudnn.so.9) could not be loaded: %s; " ADVICE, error);
  libraries->cublaslt_handle = open_first(cublaslt_names, error, sizeof error);
  if (!libraries->cublaslt_handle) {
    status =
        host->fail(host, PD_UNSUPPORTED, "cuBLASLt (libcublasLt.so.13 or .12) could not be loaded: %s; " ADVICE, error);
    goto out;
  }
#define CUDA_X(name)                                                                                                   \
  if (!status) status = load(host, libraries->cudnn_handle, "cudnn" #name, &libraries->cudnn.name);
  CUDA_CUDNN_MAP(CUDA_X)
#undef CUDA_X
#define CUDA_X(name)                                                                                                   \
  if (!status) status = load(host, libraries->cublaslt_handle, "cublasLt" #name, &libraries->cublaslt.name);
  CUDA_CUBLASLT_MAP(CUDA_X)
#undef CUDA_X
out:
  if (status) cuda_libraries_close(libraries);
  return status;
}

void cuda_libraries_close(cuda_libraries *libraries) {
  if (libraries->cudnn_handle) dlclose(libraries->cudnn_handle);
  if (libraries->cublaslt_handle) dlclose(libraries->cublaslt_handle);
  *libraries = (cuda_libraries){0};
}
