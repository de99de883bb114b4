/*
 * A corpus: runs whose cause is known, from an INI file.
 *
 * [corpus] has
 * - seeds: runs of each cell, 1 to 100.
 * - min_effect: share of the step (0 or more, below 1) from which an effect counts; smaller ones are for the
 *   detection limit alone.
 * - hold_out: N, every N-th cell of each cause is held out, no threshold may be set on it; 0: none.
 * - fix_seeds: what the verdict suggests is tried for runs of that many seeds, where it names the cause; 0: not tried.
 * - set, set2, set3 ...: SECTION.KEY=VALUE ... of all runs.
 * - size, size2, size3 ...: the same, of all runs of one size; every cause runs at every size.
 * - sinks: NAME ..., to run beside the window sink.
 *
 * Any other section is a cause; none comes twice, nor does a key within it:
 * - scenario: what to run.
 * - expect: the cause it injects, as the verdict spells it (VERDICT_MAP); none for the baseline.
 * - dial, values: one run per value of that key; no value comes twice.
 * - set: SECTION.KEY=VALUE ... of these runs.
 * - paired: true: the baseline takes the same dial. Causes paired at the same value share it.
 * - also: a second cause, which the loader injects beside the scenario ([data] io_sleep_ms, cpu_us; input_bound): what
 *   is to be named is the one with the larger effect, by the run's own control steps, and each share is held against
 *   its effect.
 * - off_path: true: the cause is there, hidden behind other work: with an effect below min_effect it must not be named.
 * - repeat: runs of each seed and size (1).
 * - effect: control: against control steps of the run's own, where it made them; baselines: against baselines, whatever
 *   the run measured: a loader's queue can outlast its control steps.
 *
 * One section expects none. Where runs measure their cures ([truth] cures = auto), a cure that saves as much as makes a
 * cause, and more than the injection costs, is what is to be named (judge.h). What a run's cause does to its step is
 * what its cure saved, else what the run measured against control steps of its own ([truth] interleave); else it is
 * held against baselines of the same seed and size, and value where it is paired. A cell is a cause at one intensity
 * and size; the one with value v and size s is held out when (v + s) % hold_out is 1, a baseline when (seed + repeat +
 * s) % hold_out is.
 */
#ifndef CORE_SCORE_CORPUS_H
#define CORE_SCORE_CORPUS_H

#include "base/error.h"

enum {
  CORPUS_GROUPS = 32,
  CORPUS_VALUES = 16,
  CORPUS_TEXT = 192,
  CORPUS_SETS = 8,
  CORPUS_SIZES = 64,
  CORPUS_CELLS = 4096
};

typedef struct corpus_group {
  char name[CORPUS_TEXT], scenario[CORPUS_TEXT], expect[CORPUS_TEXT], also[CORPUS_TEXT], dial[CORPUS_TEXT],
      set[CORPUS_TEXT];
  char values[CORPUS_VALUES][CORPUS_TEXT];
  uint32_t value_count; /* 0: one run without a dial */
  uint32_t repeat;
  bool paired, off_path, by_baselines;
  int line, expect_line, also_line; /* in the file */
} corpus_group;

typedef struct corpus_cell {
  uint32_t group; /* whose scenario it runs */
  uint32_t dial;  /* the group whose dial is set, and to which value; CORPUS_GROUPS: none */
  uint32_t value, seed, size, repeat;
  uint32_t baseline; /* index of its class of baselines: cells that are its baselines have the same and are_baseline */
  bool is_baseline, held_out;
} corpus_cell;

typedef struct corpus {
  corpus_group groups[CORPUS_GROUPS];
  uint32_t group_count, baseline; /* baseline: the group that expects none */
  char sets[CORPUS_SETS][CORPUS_TEXT], sizes[CORPUS_SIZES][CORPUS_TEXT], sinks[CORPUS_TEXT];
  uint32_t set_count, size_count, seeds, hold_out, fix_seeds;
  double min_effect;
  corpus_cell *cells;
  uint32_t cell_count, baseline_classes;
} corpus;

/* All mistakes of the file are added to `err`. NULL on failure. */
corpus *corpus_read(const char *path, error *err);
/* The same for text in memory. */
corpus *corpus_take(const char *path, const char *text, size_t bytes, error *err);
void corpus_free(corpus *self);

/* "dataloader_data.io_sleep_ms=2_seed0", with "_size1" and "_run1" where there are several: the cell's folder. */
void corpus_cell_name(const corpus *self, const corpus_cell *cell, char *text, size_t room);

#endif
