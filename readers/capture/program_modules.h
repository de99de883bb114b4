/*
 * Modules of a PyTorch program, as the hook of `pdhost record --modules` marks them: a range is a module's forward, and
 * a moment is where the gradient of its output is there. Its backward lasts from there to the last call that the thread
 * makes before the next module is marked. [loop thread]
 */
#ifndef READERS_CAPTURE_PROGRAM_MODULES_H
#define READERS_CAPTURE_PROGRAM_MODULES_H

#include "capture/format.h"

#include <pdhost/reader.h>

/* Where a module's backward begins, or with module 0 where that of the one before it is over. */
typedef struct module_moment {
  int64_t ns, end_ns;
  uint32_t tid, name, module; /* as the file has the thread; the intake's string ids */
  uint32_t reserved;
} module_moment;

/* Begins with all zero. */
typedef struct program_modules {
  uint32_t domain; /* the intake's string id */
  module_moment *all;
  uint32_t count, room;
  bool is_sorted, has_backward, failed; /* failed: out of memory */
} program_modules;

void program_modules_open(program_modules *self, const pd_intake *intake);
/* The intake's string id of the module whose mark the text is; 0: it is no mark. */
uint32_t program_modules_name(const pd_intake *intake, const char *text, uint32_t bytes);
/* A range or a moment of thread `tid`, whose domain is the intake's `domain`, and whose name is the mark of `module`.
 * Fills in what `range` is. */
void program_modules_take(program_modules *self, uint32_t module, uint32_t domain, uint32_t tid, pd_read_range *range);
/* All are taken. Looks at the calls among these rows that begin before `cut_ns`. */
void program_modules_calls(program_modules *self, const pd_activity *rows, uint32_t count, int64_t cut_ns);
/* Gives the backward ranges to the intake. PD_NO_MEMORY is the one failure. */
pd_status program_modules_give(const program_modules *self, const pd_intake *intake, uint32_t pid);
void program_modules_free(program_modules *self);

#endif
