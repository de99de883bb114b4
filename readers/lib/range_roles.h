/* What a range is, by the name that PyTorch gives it. */
#ifndef READERS_LIB_RANGE_ROLES_H
#define READERS_LIB_RANGE_ROLES_H

#include <stddef.h>

typedef enum range_role {
  RANGE_ROLE_PLAIN = 0,
  RANGE_ROLE_STEP,      /* ProfilerStep#N */
  RANGE_ROLE_INPUT,     /* enumerate(DataLoader)#...__next__ */
  RANGE_ROLE_OPTIMIZER, /* Optimizer.step#..., Optimizer.zero_grad#... */
  RANGE_ROLE_BACKWARD,  /* autograd::engine::evaluate_function: ... */
  RANGE_ROLE_MODULE,    /* nn.Module: ... */
  RANGE_ROLE_CODE       /* train.py(57): step; a Python function that is not a library's */
} range_role;

/* `name` needs no NUL. */
range_role range_role_of_name(const char *name, size_t length);

#endif
