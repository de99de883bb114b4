/* See doctor_libraries.h. */
#include "doctor_libraries.h"

#include "base/child.h"
#include "devices/cuda/cupti/cupti_places.h"

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
     "a GPU needs it: install the NVIDIA driver",
     12000,
     "CUDA 12.0"},
    {"cuDNN",
     {"libcudnn.so.9", "/usr/local/cuda/lib64/libcudnn.so.9"},
     "cudnnGetVersion",
     false,
     10000,
     100,
     REMEDY("cuDNN 9"),
     90000,
     "9.0"},
    {"cuBLASLt",
     {"libcublasLt.so.13", "libcublasLt.so.12", "/usr/local/cuda/lib64/libcublasLt.so.13"},
     "cublasLtGetVersion",
     false,
     10000,
     100,
     REMEDY("cuBLAS of CUDA 13"),
     120000,
     "12.0"},
    {"CUPTI",
     {NULL},
     "cuptiGetVersion",
     true,
     0,
     1,
     "a GPU's records need it: install CUPTI of CUDA 13.0 Update 1 or newer, or set CUDA_HOME to its toolkit or "
     "device.cupti_library to its file",
     130001,
     "130001 (CUDA 13.0 Update 1)"},
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

/* What became of the files that were tried. */
typedef struct search {
  const doctor_library *of;
  doctor_found found;
  char said[256];
} search;

/* The first one that is new enough ends the search. */
static bool try_file(search *self, const char *file) {
  const doctor_library *of = self->of;
  char version[64];
  void *library = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  void *address = library ? dlsym(library, of->function) : NULL;
  if (library && !address && self->found == DOCTOR_MISSING)
    snprintf(self->said, sizeof self->said, "%s has no %s", file, of->function);
  if (!address) return false;
  const unsigned long number = ask(of, address);
  version_text(of, number, version, sizeof version);
  if (number >= of->oldest) {
    snprintf(self->said, sizeof self->said, "%s, %s", version, file);
    self->found = DOCTOR_FOUND;
    return true;
  }
  if (self->found == DOCTOR_MISSING)
    snprintf(self->said, sizeof self->said, "%s, %s: too old, %s or newer is needed", version, file, of->oldest_text);
  self->found = DOCTOR_TOO_OLD;
  return false;
}

static bool try_folder(void *user, const char *folder) {
  char path[4096];
  for (const char *const *file = cupti_places_files; *file; file++) {
    snprintf(path, sizeof path, "%s%s%s", folder, folder[0] ? "/" : "", *file);
    if (try_file(user, path)) return true;
  }
  return false;
}

/* In the child. The exit code is what was found. */
static int body(void *user, int report) {
  search self = {.of = user, .said = "not found"};
  bool done = false;
  for (size_t i = 0; self.of->files[i] && !done; i++) done = try_file(&self, self.of->files[i]);
  if (!self.of->files[0]) (void)cupti_places_visit(try_folder, &self);
  const size_t bytes = strlen(self.said);
  return write(report, self.said, bytes) == (ssize_t)bytes ? (int)self.found : DOCTOR_MISSING;
}

doctor_found doctor_library_find(const doctor_library *library, char *said, size_t room) {
  doctor_library self = *library;
  child_result result;
  char ending[128] = "no child process could be made";
  if (child_call(body, &self, LIBRARY_SECONDS, &result)) child_ending(&result, ending, sizeof ending);
  snprintf(said, room, "%s", ending[0] ? ending : result.text);
  return ending[0] ? DOCTOR_MISSING : (doctor_found)result.exit_code;
}

typedef struct listing {
  char *text;
  size_t room;
} listing;

static bool list_folder(void *user, const char *folder) {
  const listing *self = user;
  const size_t used = strlen(self->text);
  if (folder[0] && strstr(self->text, folder)) return false; /* CUDA_HOME names the usual folder */
  snprintf(self->text + used, self->room - used, "%s%s", used ? ", " : "", folder[0] ? folder : "the loader's path");
  return false;
}

const char *doctor_cupti_folders(char *text, size_t room) {
  listing self = {text, room};
  text[0] = '\0';
  (void)cupti_places_visit(list_folder, &self);
  return text;
}
