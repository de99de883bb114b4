/* Loads cuDNN and cuBLASLt. A library found by the loader's own rules wins; then the toolkit's folder is tried. */
#include "libraries.h"

#include "devices/cuda/cupti/comma_list.h"

#include <dlfcn.h>
#include <string.h>

#define ADVICE "set LD_LIBRARY_PATH to its folder, or run on the CPU with --device cpu"

void *cuda_library_open(const char *const *names, char *said, size_t bytes) {
  said[0] = '\0';
  for (int i = 0; names[i]; i++) {
    void *library = dlopen(names[i], RTLD_LAZY | RTLD_LOCAL);
    if (library) return library;
    const char *reason = dlerror();
    comma_list_add(said, bytes, "%s", reason ? reason : names[i]);
  }
  return NULL;
}

bool cuda_library_find(void *library, const char *symbol, void *slot) {
  void *address = dlsym(library, symbol);
  memcpy(slot, &address, sizeof address);
  return address != NULL;
}

static pd_status load(const pd_host *host, void *library, const char *symbol, void *slot) {
  if (cuda_library_find(library, symbol, slot)) return PD_OK;
  return host->fail(host, PD_UNSUPPORTED, "%s is missing in the library that was loaded: it is too old; " ADVICE,
                    symbol);
}

pd_status cuda_libraries_open(const pd_host *host, cuda_libraries *libraries) {
  static const char *const cudnn_names[] = {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9", NULL};
  static const char *const cublaslt_names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                               "/usr/local/cuda/lib64/libcublasLt.so.13", NULL};
  char cudnn[384], cublaslt[384];
  pd_status status = PD_OK;
  *libraries = (cuda_libraries){0};
  libraries->cudnn_handle = cuda_library_open(cudnn_names, cudnn, sizeof cudnn);
  libraries->cublaslt_handle = cuda_library_open(cublaslt_names, cublaslt, sizeof cublaslt);
  if (!libraries->cudnn_handle && !libraries->cublaslt_handle)
    status =
        host->fail(host, PD_UNSUPPORTED, "cuDNN 9 and cuBLASLt could not be loaded: %s; %s; " ADVICE, cudnn, cublaslt);
  else if (!libraries->cudnn_handle)
    status = host->fail(host, PD_UNSUPPORTED, "cuDNN 9 could not be loaded: %s; " ADVICE, cudnn);
  else if (!libraries->cublaslt_handle)
    status = host->fail(host, PD_UNSUPPORTED, "cuBLASLt could not be loaded: %s; " ADVICE, cublaslt);
#define CUDA_X(name)                                                                                                   \
  if (status == PD_OK) status = load(host, libraries->cudnn_handle, "cudnn" #name, &libraries->cudnn.name);
  CUDA_CUDNN_MAP(CUDA_X)
#undef CUDA_X
#define CUDA_X(name)                                                                                                   \
  if (status == PD_OK) status = load(host, libraries->cublaslt_handle, "cublasLt" #name, &libraries->cublaslt.name);
  CUDA_CUBLASLT_MAP(CUDA_X)
#undef CUDA_X
  if (status != PD_OK) cuda_libraries_close(libraries);
  return status;
}

void cuda_libraries_close(cuda_libraries *self) {
  if (self->cudnn_handle) dlclose(self->cudnn_handle);
  if (self->cublaslt_handle) dlclose(self->cublaslt_handle);
  *self = (cuda_libraries){0};
}
