/* The cells of a sweep: every combination of its axes' values. [loop thread] */
#ifndef CORE_COMPARE_SWEEP_PLAN_H
#define CORE_COMPARE_SWEEP_PLAN_H

#include "assignments.h"

#include "host/saved_run.h"

enum { SWEEP_AXES = 6, SWEEP_CELLS = 4096 };

typedef struct sweep_plan {
  axis axes[SWEEP_AXES];
  uint32_t axis_count;
  uint32_t cell_count; /* the last axis changes fastest */
  const char *program, *folder;
  char **base; /* words of the run that all cells share */
  uint32_t base_count;
  uint32_t benchmark_count; /* cells with [run] mode = benchmark, once checked */
  uint64_t timings;         /* bit i: a cell is timed in the way whose bits, of idle_keys.h, are i */
} sweep_plan;

/* Adds an axis ("data.num_workers=0,2"). A mistake is added to `err`. */
bool sweep_plan_add(sweep_plan *self, const char *text, error *err);
/* After the last axis: checks the shared words and every cell's configuration, all before anything runs. */
bool sweep_plan_check(sweep_plan *self, error *err);
void sweep_plan_free(sweep_plan *self);

/* Value of a cell on an axis. */
const char *sweep_plan_value(const sweep_plan *self, uint32_t cell, uint32_t at);
/* "data.num_workers=2, data.pin_memory=1" of the axes from `first` up to, without, `end`. */
const char *sweep_plan_name(const sweep_plan *self, uint32_t cell, uint32_t first, uint32_t end, char *text,
                            size_t room);
/* The cell's folder: named by its values, with what a file name cannot hold written as %XX. */
const char *sweep_plan_folder(const sweep_plan *self, uint32_t cell, char *path, size_t room);
/* The words of the cell's run, program first; *out is zeroed. */
void sweep_plan_command(const sweep_plan *self, uint32_t cell, saved_run *out);

#endif
