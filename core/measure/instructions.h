/* How many instructions a step takes, as Callgrind counted them. One thread at a time. */
#ifndef CORE_MEASURE_INSTRUCTIONS_H
#define CORE_MEASURE_INSTRUCTIONS_H

#include <pdhost/plugin.h>

typedef struct pd_function_count {
  char *name, *object; /* its symbol; the file it is from, without folder: "libm.so.6", or "" */
  uint64_t count;
} pd_function_count;

/* Texts and arrays are its own. All zeros: nothing was counted. */
typedef struct pd_instructions {
  char *tool;       /* "callgrind-3.19.0" */
  uint64_t steps;   /* in each count; at least 1 */
  uint64_t *counts; /* of `steps` steps and the loop around them, by all threads together */
  uint64_t repeats; /* of them */
  uint64_t repeat_room;
  uint64_t baseline; /* the same loop around a step that does nothing */
  /* What `steps` steps take in each function itself, without those it calls, in the count that is the median; the
   * baseline's is taken off. From the most down, as many as were kept. */
  pd_function_count *functions;
  uint64_t function_count, function_room;
} pd_instructions;

/* The instructions of one step, the baseline taken off. */
typedef struct instruction_figures {
  double median, min, max;
} instruction_figures;

/* Frees everything and zeroes it. */
void instructions_clear(pd_instructions *self);
/* Copies. PD_NO_MEMORY leaves it as it was. */
pd_status instructions_add_count(pd_instructions *self, uint64_t count);
pd_status instructions_add_function(pd_instructions *self, const char *name, const char *object, uint64_t count);

/* Which count is the median, of an even number the lower one. There has to be one. */
uint64_t instructions_median(const pd_instructions *self);
/* All zero where nothing was counted. */
void instructions_figures(const pd_instructions *self, instruction_figures *out);
/* "run_mul [cpu.so]"; a name that is longer than anybody reads is cut. */
const char *instructions_function(const char *name, const char *object, char *text, size_t room);
/* "1,234,567" */
const char *instructions_text(double count, char text[32]);

#endif
