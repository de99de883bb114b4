/* See cupti_places.h. */
#include "cupti_places.h"

#include <glob.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const cupti_places_files[] = {"libcupti.so.13", "libcupti.so.12", NULL};

typedef struct visitor {
  bool (*visit)(void *user, const char *folder);
  void *user;
} visitor;

static bool visit_below(const visitor *self, const char *folder, const char *const *suffixes) {
  char path[PATH_MAX];
  if (!folder || !*folder) return false;
  for (; *suffixes; suffixes++)
    if ((size_t)snprintf(path, sizeof path, "%s%s", folder, *suffixes) < sizeof path && self->visit(self->user, path))
      return true;
  return false;
}

/* The folder that the process took a library of CUDA's from: the CUPTI of the same toolkit lies beside it. The device
 * carries its runtime inside, so cuBLAS answers too. */
static int find_runtime(struct dl_phdr_info *info, size_t bytes, void *folder) {
  (void)bytes;
  const char *slash = info->dlpi_name ? strrchr(info->dlpi_name, '/') : NULL;
  if (!slash || (strncmp(slash, "/libcudart.so", 13) != 0 && strncmp(slash, "/libcublasLt.so", 15) != 0)) return 0;
  snprintf(folder, PATH_MAX, "%.*s", (int)(slash - info->dlpi_name), info->dlpi_name);
  return 1;
}

static bool visit_beside_runtime(const visitor *self) {
  static const char *const suffixes[] = {"", "/../extras/CUPTI/lib64", "/../../cuda_cupti/lib",
                                         "/../../../extras/CUPTI/lib64", NULL};
  char folder[PATH_MAX] = "";
  return dl_iterate_phdr(find_runtime, folder) && visit_below(self, folder, suffixes);
}

/* Python's wheels bring CUPTI too. */
static bool visit_wheels(const visitor *self) {
  static const char *const patterns[] = {
      "/usr/lib/python3*/site-packages/nvidia/c*/lib",
      "/usr/local/lib/python3*/*-packages/nvidia/c*/lib",
      "/opt/*/lib/python3*/site-packages/nvidia/c*/lib",
      "/opt/*/.venv/lib/python3*/site-packages/nvidia/c*/lib",
  };
  bool done = false;
  for (size_t p = 0; p < sizeof patterns / sizeof patterns[0] && !done; p++) {
    glob_t found;
    if (glob(patterns[p], 0, NULL, &found)) continue;
    for (size_t i = found.gl_pathc; i > 0 && !done; i--) /* the newest version sorts last */
      done = self->visit(self->user, found.gl_pathv[i - 1]);
    globfree(&found);
  }
  return done;
}

bool cupti_places_visit(bool (*visit)(void *user, const char *folder), void *user) {
  static const char *const suffixes[] = {"/extras/CUPTI/lib64", "/lib64", "/lib", "/targets/x86_64-linux/lib", NULL};
  const visitor self = {visit, user};
  return visit_beside_runtime(&self) || visit(user, "") || visit_below(&self, getenv("CUDA_HOME"), suffixes) ||
         visit_below(&self, getenv("CUDA_PATH"), suffixes) || visit_below(&self, "/usr/local/cuda", suffixes) ||
         visit_wheels(&self);
}
