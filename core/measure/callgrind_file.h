/* Reads what Callgrind writes: https://valgrind.org/docs/manual/cl-format.html. Its only event read is Ir,
 * instructions that were executed; its only costs read are those of each function itself, whose sum is the file's
 * total. (callgrind_annotate counts a call that began before the counting did, calls=0, as its caller's own.) [any
 * thread] */
#ifndef CORE_MEASURE_CALLGRIND_FILE_H
#define CORE_MEASURE_CALLGRIND_FILE_H

#include "instructions.h"

typedef struct callgrind_profile {
  char *tool;                   /* "callgrind-3.19.0"; "" where the file does not say */
  uint64_t total;               /* as the file's last line has it */
  pd_function_count *functions; /* each once, from the most down */
  uint64_t function_count;
} callgrind_profile;

/* `name` is the file's, for messages. On failure `out` is empty and `why` is one line that says where the text is
 * wrong; else it is empty. A file without its last line was cut short, and is refused. */
pd_status callgrind_profile_parse(const char *text, size_t bytes, const char *name, callgrind_profile *out, char *why,
                                  size_t room);
/* The same for a file. PD_IO: it cannot be read. */
pd_status callgrind_profile_read(const char *path, callgrind_profile *out, char *why, size_t room);
void callgrind_profile_clear(callgrind_profile *self);

/* Takes what `baseline` has of each function off it, and those of which nothing is left. The total stays. */
void callgrind_profile_take_off(callgrind_profile *self, const callgrind_profile *baseline);

#endif
