/*
 * Where a thread of a Python program is in the program's own code, read from its memory: the interpreter says where it
 * keeps what a debugger needs (_Py_DebugOffsets, in the section .PyRuntime). The program does nothing for it.
 * CPython 3.13 alone: the form is another one in each version, and there is none in earlier ones. [main thread]
 */
#ifndef CORE_RECORD_HOST_HOST_PYTHON_H
#define CORE_RECORD_HOST_HOST_PYTHON_H

#include "capture/format.h"

#include <stdbool.h>
#include <sys/types.h>

enum { HOST_PYTHON_OFFSETS = 71 };

typedef struct host_python {
  pid_t pid;
  uint64_t runtime; /* address in the program; 0: it is no such program, or its memory may not be read */
  uint64_t offsets[HOST_PYTHON_OFFSETS];
  uint64_t code_type; /* address of the type of code objects; 0: not met yet */
  char folder[256];   /* of the program, with a slash at its end */
} host_python;

/* False: this is no CPython 3.13, or its memory may not be read. */
bool host_python_open(host_python *self, pid_t pid);
/* "train.py:57 (step)": the innermost frame that is of no library. False: there is none, or it could not be read. */
bool host_python_look(host_python *self, pid_t tid, char *place, size_t room);

#endif
