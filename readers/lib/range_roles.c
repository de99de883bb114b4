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

range_role range_role_of_name(const char *name, size_t length) {
  if (begins(name, length, "ProfilerStep#")) return RANGE_ROLE_STEP;
  if (holds(name, length, "DataLoader") && holds(name, length, "__next__")) return RANGE_ROLE_INPUT;
  if (begins(name, length, "Optimizer.")) return RANGE_ROLE_OPTIMIZER;
  if (begins(name, length, "autograd::engine::evaluate_function")) return RANGE_ROLE_BACKWARD;
  if (begins(name, length, "nn.Module: ")) return RANGE_ROLE_MODULE;
  return RANGE_ROLE_PLAIN;
}
