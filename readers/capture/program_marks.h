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
  uint32_t domain, step_name, input_name; /* the intake's string ids */
  step_mark *all;
  uint32_t count, room;
} program_marks;

void program_marks_open(program_marks *self, const pd_intake *intake);
/* A range or mark whose domain is the intake's `domain`: fills in what it is. True: it is a wait for input. Without
 * memory a mark is left out: then steps are found by what the launches repeat. */
bool program_marks_take(program_marks *self, uint32_t domain, pd_read_range *range);
/* Gives the steps, of which the first has this number; returns the number of the one after the last. */
uint64_t program_marks_give(program_marks *self, const pd_intake *intake, uint64_t number);
void program_marks_free(program_marks *self);

#endif
