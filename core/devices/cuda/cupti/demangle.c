/* The C++ runtime's demangler refuses names of more than 1024 characters, and CUTLASS has such kernels (GCC bug 87675:
   their number of parts is held against a limit of recursion). The same code in libiberty can be told not to; that a
   thousand parts are nested it still refuses. */
#include "demangle.h"

#include <stdbool.h>
#include <string.h>

enum { LONGEST = 8192 }; /* some 200 bytes of stack a character */

static bool is_mangled(const char *name) { return !strncmp(name, "_Z", 2); }

#ifdef PDHOST_HAS_LIBIBERTY

#include <libiberty/demangle.h>

char *cuda_demangle(const char *mangled) {
  if (!is_mangled(mangled) || strlen(mangled) > LONGEST) return NULL;
  return cplus_demangle_v3(mangled, DMGL_PARAMS | DMGL_ANSI | DMGL_NO_RECURSE_LIMIT);
}

#else

#include <dlfcn.h>
#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *(*demangle)(const char *, char *, size_t *, int *);

/* It is not closed: its code may be in use. */
static void load(void) {
  void *library = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
  if (library) *(void **)&demangle = dlsym(library, "__cxa_demangle");
}

char *cuda_demangle(const char *mangled) {
  if (!is_mangled(mangled) || strlen(mangled) > LONGEST) return NULL;
  pthread_once(&once, load);
  int status = 0;
  return demangle ? demangle(mangled, NULL, NULL, &status) : NULL;
}

#endif
