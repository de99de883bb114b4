/* See doctor_libraries.h. */
#include "doctor_libraries.h"

#include "base/child.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { LIBRARY_SECONDS = 20 };

#define REMEDY(what) "a GPU needs it: install " what ", or set LD_LIBRARY_PATH to its folder"

const doctor_library doctor_libraries[] = {
    {"CUDA driver",
     {"libcuda.so.1"},
     "cuDriverGetVersion",
     true,
     1000,
     10,
     "a GPU needs it: install the NVIDIA driver"},
    {"cuDNN",
     {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9"},
     "cudnnGetVersion",
     false,
     10000,
     100,
     REMEDY("cuDNN 9")},
    {"cuBLASLt",
     {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.13"},
     "cublasLtGetVersion",
     false,
     10000,
     100,
     REMEDY("cuBLAS of CUDA 13")},
    {"CUPTI",
     {"libcupti.so.13", "libcupti.so.12", "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13",
      "/usr/local/cuda/lib64/libcupti.so.13"},
     "cuptiGetVersion",
     true,
     0,
     1,
     REMEDY("CUPTI of CUDA 12.9 or newer")},
    {.name = NULL}};

/* 91002 by 10000 and 100 is "9.10.2"; 13000 by 1000 and 10 is "13.0". */
static void version_text(const doctor_library *self, unsigned long version, char *text, size_t room) {
  if (!self->major)
    snprintf(text, room, "API version %lu", version);
  else if (self->minor == 10)
    snprintf(text, room, "CUDA %lu.%lu", version / self->major, version % self->major / self->minor);
  else
    snprintf(text, room, "%lu.%lu.%lu", version / self->major, version % self->major / self->minor,
             version % self->minor);
}

static unsigned long ask(const doctor_library *self, void *address) {
  if (self->is_by_pointer) {
    uint32_t value = 0;
    int (*fill)(uint32_t *) = NULL;
    memcpy(&fill, &address, sizeof fill);
    return fill(&value) == 0 ? value : 0;
  }
  size_t (*get)(void) = NULL;
  memcpy(&get, &address, sizeof get);
  return get();
}

/* In the child. */
static int body(void *user, int report) {
  const doctor_library *self = user;
  char said[256] = "not found", version[64];
  int code = 1;
  for (size_t i = 0; self->files[i] && code; i++) {
    void *library = dlopen(self->files[i], RTLD_LAZY | RTLD_LOCAL);
    void *address = library ? dlsym(library, self->function) : NULL;
    if (library && !address) snprintf(said, sizeof said, "%s has no %s", self->files[i], self->function);
    if (!address) continue;
    version_text(self, ask(self, address), version, sizeof version);
    snprintf(said, sizeof said, "%s, %s", version, self->files[i]);
    code = 0;
  }
  const size_t bytes = strlen(said);
  return write(report, said, bytes) == (ssize_t)bytes ? code : 1;
}

bool doctor_library_find(const doctor_library *library, char *said, size_t room) {
  doctor_library self = *library;
  child_result result;
  char ending[128] = "no child process could be made";
  if (child_call(body, &self, LIBRARY_SECONDS, &result)) child_ending(&result, ending, sizeof ending);
  snprintf(said, room, "%s", ending[0] ? ending : result.text);
  return !ending[0] && result.exit_code == 0;
}
