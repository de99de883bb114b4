/*
 * A corpus: runs whose cause is known, from an INI file.
 *
 *   [corpus]                       seeds, min_effect; `set` and keys that begin with it: SECTION.KEY=VALUE ... of all
 * runs [any name]                     scenario, expect (a bottleneck as scenarios spell it; none for the baseline)
 *                                  dial, values: one run per value; paired: the baseline takes the same dial
 *
 * One section expects none. Every run of the others has a baseline of the same seed, and value where it is paired.
 */
#ifndef CORE_SCORE_CORPUS_H
#define CORE_SCORE_CORPUS_H

#include "host/error.h"

enum { CORPUS_GROUPS = 32, CORPUS_VALUES = 16, CORPUS_TEXT = 192, CORPUS_SETS = 8, CORPUS_CELLS = 4096 };

typedef struct corpus_group {
  char name[CORPUS_TEXT], scenario[CORPUS_TEXT], expect[CORPUS_TEXT], dial[CORPUS_TEXT];
  char values[CORPUS_VALUES][CORPUS_TEXT];
  uint32_t value_count; /* 0: one run without a dial */
  bool paired;
  int line;
} corpus_group;

typedef struct corpus_cell {
  uint32_t group; /* whose scenario it runs */
  uint32_t dial;  /* the group whose dial is set, and to which value; CORPUS_GROUPS: none */
  uint32_t value, seed;
  uint32_t baseline; /* cell; its own index for a baseline */
  uint32_t reserved;
} corpus_cell;

typedef struct corpus {
  corpus_group groups[CORPUS_GROUPS];
  uint32_t group_count, baseline; /* baseline: the group that expects none */
  char sets[CORPUS_SETS][CORPUS_TEXT];
  uint32_t set_count, seeds;
  double min_effect;
  corpus_cell *cells;
  uint32_t cell_count;
  uint32_t reserved;
} corpus;

/* All mistakes of the file are added to `err`. NULL on failure. */
corpus *corpus_read(const char *path, error *err);
void corpus_free(corpus *self);

/* "dataloader_data.io_sleep_ms=2_seed0": the cell's folder. */
void corpus_cell_name(const corpus *self, const corpus_cell *cell, char *text, size_t room);

#endif
