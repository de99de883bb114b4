/* cuDNN and cuBLASLt as tables of functions, loaded by name when the device is opened: the plugin itself links neither,
 * so that listing it needs no CUDA library. */
#ifndef DEVICES_CUDA_LIBRARIES_H
#define DEVICES_CUDA_LIBRARIES_H

#include <pdhost/plugin.h>

#include <cudnn_graph.h>
#include <cublasLt.h>

/* clang-format never settles on lists like these. */
/* clang-format off */
#define CUDA_CUDNN_MAP(X)                                                                                              \
  X(GetVersion)                                                                                                        \
  X(GetErrorString)                                                                                                    \
  X(GetLastErrorString)                                                                                                \
  X(Create) X(Destroy) X(SetStream) X(BackendCreateDescriptor) X(BackendDestroyDescriptor) X(BackendFinalize)          \
      X(BackendSetAttribute) X(BackendGetAttribute) X(BackendExecute)

#define CUDA_CUBLASLT_MAP(X)                                                                                           \
  X(GetVersion)                                                                                                        \
  X(GetStatusString)                                                                                                   \
  X(Create)                                                                                                            \
  X(Destroy) X(Matmul) X(MatmulAlgoGetHeuristic) X(MatmulDescCreate) X(MatmulDescDestroy) X(MatmulDescSetAttribute)    \
      X(MatrixLayoutCreate) X(MatrixLayoutDestroy) X(MatrixLayoutSetAttribute) X(MatmulPreferenceCreate)               \
          X(MatmulPreferenceDestroy) X(MatmulPreferenceSetAttribute)
/* clang-format on */

typedef struct cuda_libraries {
  void *cudnn_handle, *cublaslt_handle;
  struct {
#define CUDA_X(name) __typeof__(&cudnn##name) name;
    CUDA_CUDNN_MAP(CUDA_X)
#undef CUDA_X
  } cudnn;
  struct {
#define CUDA_X(name) __typeof__(&cublasLt##name) name;
    CUDA_CUBLASLT_MAP(CUDA_X)
#undef CUDA_X
  } cublaslt;
} cuda_libraries;

/* The first of `names`, which end with NULL, that loads; NULL: `said` holds the loader's reason for each. [any thread]
 */
void *cuda_library_open(const char *const *names, char *said, size_t bytes);
/* Whether the library has `symbol`, whose address goes to the pointer at `slot`, or NULL. [any thread] */
bool cuda_library_find(void *library, const char *symbol, void *slot);

/* PD_UNSUPPORTED names each library that is missing and what was tried. [loop thread] */
pd_status cuda_libraries_open(const pd_host *host, cuda_libraries *libraries);
void cuda_libraries_close(cuda_libraries *self);

#endif
