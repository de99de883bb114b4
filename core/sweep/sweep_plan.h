/* The cells of a sweep: every combination of its axes' values, for each draw of the keys that are drawn. [loop thread]
 */
#ifndef CORE_SWEEP_SWEEP_PLAN_H
#define CORE_SWEEP_SWEEP_PLAN_H

#include "draws.h"
#include "config/assignments.h"

#include "run/saved_run.h"

/* SWEEP_DRAWS: number of draws unless the user says another. */
enum { SWEEP_AXES = 6, SWEEP_CELLS = 4096, SWEEP_DRAWS = 10 };

typedef struct sweep_plan {
  axis axes[SWEEP_AXES];
  draws draws;
  uint32_t axis_count;
  uint32_t cell_count; /* the last axis changes fastest, draws slowest */
  uint32_t draw_count; /* wanted; 0: not said */
  uint64_t draw_seed;
  const char *program, *folder;
  char **base; /* words of the run that all cells share */
  uint32_t base_count;
  bool is_benchmark[SWEEP_CELLS]; /* by cell: [run] mode = benchmark, once checked */
  uint32_t benchmark_count;       /* of them */
  uint64_t timings;               /* bit i: a cell is timed in the way whose bits, of idle_keys.h, are i */
} sweep_plan;

/* Adds an axis ("data.num_workers=0,2"); draws_add adds a key that is drawn. A mistake is added to `err`. */
bool sweep_plan_add(sweep_plan *self, const char *text, error *err);
/* After the last axis: makes the draws and checks the shared words and every cell's configuration, all before anything
 * runs. */
bool sweep_plan_check(sweep_plan *self, error *err);
void sweep_plan_free(sweep_plan *self);

/* The keys in which cells differ: those drawn, then the axes. */
uint32_t sweep_plan_key_count(const sweep_plan *self);
/* Key `at` with its value in a cell. */
config_assignment sweep_plan_at(const sweep_plan *self, uint32_t cell, uint32_t at);
/* Cells of one draw, or of a sweep without draws: they follow one another. */
uint32_t sweep_plan_draw_cells(const sweep_plan *self);
/* "data.num_workers=2, data.pin_memory=1" of the keys from `first` up to, without, `end`. */
const char *sweep_plan_name(const sweep_plan *self, uint32_t cell, uint32_t first, uint32_t end, char *text,
                            size_t room);
/* The cell's folder: named by its values, with what a file name cannot hold written as %XX. */
const char *sweep_plan_folder(const sweep_plan *self, uint32_t cell, char *path, size_t room);
/* The file in the cell's folder that its run leaves its times in, once checked. */
const char *sweep_plan_result(const sweep_plan *self, uint32_t cell, char *path, size_t room);
/* The words of the cell's run, program first; *out is zeroed. */
void sweep_plan_command(const sweep_plan *self, uint32_t cell, saved_run *out);

#endif
