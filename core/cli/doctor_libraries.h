/* The libraries that the CUDA device loads by name, for pdhost doctor. [main thread; no other thread exists yet] */
#ifndef CORE_CLI_DOCTOR_LIBRARIES_H
#define CORE_CLI_DOCTOR_LIBRARIES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct doctor_library {
  const char *name;     /* "cuDNN" */
  const char *files[6]; /* tried in this order, up to NULL; none: those of cupti_places.h */
  const char *function; /* that says its version */
  bool is_by_pointer;   /* the function fills an integer; else it returns it */
  unsigned long major,
      minor; /* what the version is divided by; minor's remainder is the patch. major 0: printed whole */
  const char *remedy;
  unsigned long oldest;    /* a version below it is too old; 0: none is */
  const char *oldest_text; /* "9.0" */
} doctor_library;

typedef enum doctor_found { DOCTOR_MISSING, DOCTOR_TOO_OLD, DOCTOR_FOUND } doctor_found;

/* Up to the one whose name is NULL. */
extern const doctor_library doctor_libraries[];

/* Loads it in a child process, so that nothing of it stays here. `said` gets "9.10.2, libcudnn.so.9", what is too old
 * and how new it has to be, or why it is not there. */
doctor_found doctor_library_find(const doctor_library *library, char *said, size_t room);
/* The folders in which CUPTI is looked for, in order, as the profiler does: "the loader's path, /usr/local/cuda/...".
 */
const char *doctor_cupti_folders(char *text, size_t room);

#endif
