/* The ends of steps, as the program marked them with pdhost/mark.h: a step is what lies between two of a thread.
 * [loop thread] */
#ifndef READERS_CAPTURE_PROGRAM_MARKS_H
#define READERS_CAPTURE_PROGRAM_MARKS_H

#include <pdhost/reader.h>

typedef struct step_mark {
  int64_t ns;
  uint32_t thread; /* as the intake has it */
} step_mark;

/* Zeroed at first. */
typedef struct program_marks {
  step_mark *all;
  uint32_t count, room;
} program_marks;

/* Without memory a mark is left out: then steps are found by what the launches repeat. */
void program_marks_add(program_marks *self, int64_t ns, uint32_t thread);
/* Gives the steps, of which the first has this number; returns the number of the one after the last. */
uint64_t program_marks_give(program_marks *self, const pd_intake *intake, uint64_t number);
void program_marks_free(program_marks *self);

#endif
