/* See range_roles.h. */
#include "range_roles.h"

#include <stdbool.h>
#include <string.h>

static bool begins(const char *name, size_t length, const char *with) {
  const size_t bytes = strlen(with);
  return length >= bytes && memcmp(name, with, bytes) == 0;
}

static bool holds(const char *name, size_t length, const char *word) {
  return memmem(name, length, word, strlen(word)) != NULL;
}

/* For modules of Python and installed ones a profiler gives the path after the folder that they were found in. Those
 * of PyTorch begin with "torch/"; a module of Python itself then has no folder, so that those that run threads and
 * imports are named here. */
static bool is_own_code(const char *name, size_t length) {
  static const char *const libraries[] = {"site-packages/", "dist-packages/", "/torch/",       "lib/python",
                                          "threading.py(",  "runpy.py(",      "contextlib.py("};
  if (!holds(name, length, ".py(") || begins(name, length, "torch/") || begins(name, length, "<")) return false;
  for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++)
    if (holds(name, length, libraries[i])) return false;
  return true;
}

range_role range_role_of_name(const char *name, size_t length) {
  if (begins(name, length, "ProfilerStep#")) return RANGE_ROLE_STEP;
  if (holds(name, length, "DataLoader") && holds(name, length, "__next__")) return RANGE_ROLE_INPUT;
  if (begins(name, length, "Optimizer.")) return RANGE_ROLE_OPTIMIZER;
  if (begins(name, length, "autograd::engine::evaluate_function")) return RANGE_ROLE_BACKWARD;
  if (begins(name, length, "nn.Module: ")) return RANGE_ROLE_MODULE;
  return is_own_code(name, length) ? RANGE_ROLE_CODE : RANGE_ROLE_PLAIN;
}
