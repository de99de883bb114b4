/* See idle_keys.h. */
#include "idle_keys.h"

#include <string.h>

typedef struct idle_row {
  const char *section;
  const char *keys; /* by blanks; NULL: all of the section */
  unsigned timed;   /* where: TIMED_ bits */
  bool for_all;     /* and given for all, too */
  const char *why;  /* NULL: they may act there, whatever later rows say */
  const char *but;  /* a value that is no mistake, or NULL */
} idle_row;

#define AB (TIMED_AB | TIMED_LOOP)
#define STEP (TIMED_AB | TIMED_STEP)
#define TRAINED (TIMED_BARE | TIMED_RECORDED)
#define SWEPT (TIMED_STEP | TRAINED)

/* The first row that fits is the one that counts. */
static const idle_row rows[] = {
    {"run", "mode", TIMED_AB, true,
     "ab times the step alone, as mode = benchmark does: leave it out, or time whole iterations, with --loop",
     "benchmark"},
    {"run", "mode", TIMED_LOOP, true, "whole iterations of training are timed: leave it out", "train"},
    {"run", "sinks trace_dir", AB, true, "ab has no sinks and no traces: leave it out; --output keeps what it measures",
     NULL},
    {"sink.", NULL, AB, true, "ab has no sinks: leave it out; --output keeps what it measures", NULL},
    {"benchmark", "threads cold_cache device_time label sub_label env", TIMED_AB, false, NULL, NULL},
    {"benchmark", "callgrind callgrind_repeats callgrind_max_time", TIMED_AB, true,
     "ab counts no instructions: leave it out, and count each side with [run] mode = benchmark", NULL},
    {"benchmark", "number", TIMED_AB, false, "does not belong to one side: give it for both, by -o benchmark.number",
     NULL},
    {"benchmark", NULL, TIMED_AB, true,
     "ab sees to that itself: leave it out; --width, --max-time and --output are its options", NULL},

    {"run", "sinks trace_dir", SWEPT, true, "is set by the sweep, for each cell: leave it out", NULL},
    {"sink.", NULL, SWEPT, true, "the sweep has sinks of its own, json and tensorboard: leave it out", NULL},
    {"benchmark", "output sub_label description", SWEPT, true, "is set by the sweep, for each cell: leave it out",
     NULL},
    {"profile", "step_info_every step_info_unit", SWEPT, true, "is the table sink's, which no cell has: leave it out",
     NULL},
    {"benchmark", "label env", TIMED_STEP, false, "is only a name: give it for all cells, by -o", NULL},
    {"benchmark", "callgrind callgrind_repeats callgrind_max_time", TIMED_STEP, false,
     "changes nothing of the step: give it for all cells, by -o", NULL},
    {"benchmark", NULL, TRAINED, false,
     "only [run] mode = benchmark reads it: add -o run.mode=benchmark, or leave it out", NULL},

    {"data",
     "num_workers prefetch_factor persistent_workers prefetch_to_device worker_init_ms io_spread io_sleep_ms cpu_work "
     "cpu_us dataset_size drop_last resident_batches",
     STEP, false,
     "is the loader's, and the step alone is timed: time whole iterations, with pdhost sweep and [run] mode = train",
     NULL},
    {"data", "num_workers prefetch_factor persistent_workers worker_init_ms io_spread io_sleep_ms cpu_work cpu_us",
     TIMED_RESIDENT, false, "batches are made once, before the loop: add -o data.resident=none to load while training",
     NULL},
    {"data", "resident_batches", TIMED_LOADED, false,
     "batches are loaded in the loop: add -o data.resident=host or device, or leave it out", NULL},

    {"run", "max_steps epochs sync_timing require_cupti", STEP, false,
     "is of a training run's loop, and the step alone is timed: use pdhost sweep with [run] mode = train, or leave it "
     "out",
     NULL},
    {"schedule", NULL, STEP, false, "no loop is scheduled where the step alone is timed: leave it out", NULL},
    {"truth", NULL, STEP, false, "nothing of [truth] runs where the step alone is timed: leave it out", NULL},
    {"profile", NULL, STEP, false,
     "nothing is recorded where the step alone is timed: see what recording costs with pdhost sweep, [run] mode = "
     "train and -o profile.timer_only=false",
     NULL},
    {"profile", NULL, TIMED_LOOP, false,
     "nothing is recorded while two configurations are timed in turns: leave it out", NULL},
    {"truth", NULL, TIMED_LOOP, false, "does not belong to one side: give [truth] block for both, by -o truth.block",
     NULL},
    {"schedule", NULL, TIMED_LOOP, false, "blocks of [truth] block steps are timed: leave it out", NULL},
    {"benchmark", NULL, TIMED_LOOP, false, "only a step that is timed alone reads it: leave it out", NULL},

    {"profile", "timer_only", TRAINED, false, NULL, NULL},
    {"profile", NULL, TIMED_BARE, true,
     "cells record nothing while profile.timer_only is on: add -o profile.timer_only=false, or leave it out", NULL},
    {"run", "require_cupti", TIMED_BARE, false,
     "cells record nothing while profile.timer_only is on: add -o profile.timer_only=false, or leave it out", NULL},
};

static bool has_word(const char *words, const char *word) {
  while (*words) {
    const size_t length = strcspn(words, " ");
    if (length == strlen(word) && strncmp(words, word, length) == 0) return true;
    words += length + (words[length] == ' ');
  }
  return false;
}

static bool is_core_key(const config_assignment *at) {
  if (core_alias(at->section, at->key)) return true;
  for (uint32_t i = 0; i < CORE_SECTION_COUNT; i++) {
    const core_section *section = core_section_at(i);
    for (uint32_t k = 0; k < section->count && strcmp(section->name, at->section) == 0; k++)
      if (strcmp(section->rows[k].key, at->key) == 0) return true;
  }
  return false;
}

static bool fits(const idle_row *row, const config_assignment *at) {
  if (strcmp(row->section, "sink.") == 0) return strncmp(at->section, row->section, strlen(row->section)) == 0;
  return strcmp(row->section, at->section) == 0 && (row->keys ? has_word(row->keys, at->key) : is_core_key(at));
}

const char *idle_keys_why(const config_assignment *at, unsigned timed, idle_scope scope) {
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    const idle_row *row = &rows[i];
    if (!(row->timed & timed) || !fits(row, at)) continue;
    if (row->but && strcmp(row->but, at->value) == 0) return NULL;
    return scope == IDLE_ONE || row->for_all ? row->why : NULL;
  }
  return NULL;
}
