/* The core's own keys: sections [run] [schedule] [data] [train] [profile] [benchmark] [truth], as option rows like a
 * plugin's. The structs are filled by config.c; units are in the names. */
#ifndef CORE_CONFIG_CORE_OPTIONS_H
#define CORE_CONFIG_CORE_OPTIONS_H

#include "data/loader.h"
#include "train/train_kit.h"

#include <pdhost/plugin.h>

typedef struct run_settings {
  const char *scenario, *device; /* names or paths of .so files; device may be "auto" */
  const char *sinks;             /* as written: names or paths, separated by commas */
  const char *mode;              /* "train", "benchmark" */
  const char *trace_dir;         /* <scenario>, <time> and <pid> replaced */
  const char *plugin_path;       /* "" : none */
  int64_t device_index;
  int64_t seed;
  int64_t warmup_steps;
  int64_t max_steps; /* 0: no limit */
  int64_t epochs;    /* 0: no limit */
  bool sync_timing;
  bool require_cupti;
  bool keep_capture;
  bool isolate;
  int64_t step_timeout_ns;  /* 0: none */
  const char *communicator; /* "auto", "none", "mpi", "tcp" */
  int64_t rank_timeout_ns;
} run_settings;

#define SCHEDULE_ACTIVE_ALL (-1)

typedef struct schedule_settings {
  int64_t skip_first, wait, warmup;
  int64_t active;    /* SCHEDULE_ACTIVE_ALL: record from then on */
  int64_t repeat;    /* 0: cycle until something else ends the loop */
  const char *range; /* "" or "start,end": these steps of the loop, in place of the five above */
  int64_t twin;      /* 0: all steps of a window are recorded */
} schedule_settings;

/* Filled by the rows of [data]; config_checks.c moves it to data_config. */
typedef struct data_settings {
  data_config config;
  const char *resident;
} data_settings;

typedef struct profile_settings {
  bool record_shapes, profile_memory, with_stack, with_flops, with_modules, timer_only;
  int64_t series_every;    /* ns; 0: never */
  int64_t step_info_every; /* 0: never */
  const char *step_info_unit;
  const char *powercap_dir; /* of the processors' energy counters */
  int64_t max_memory_bytes; /* of recorded data per window */
} profile_settings;

/* Why benchmark.callgrind is not for a GPU, and what to do. */
#define CALLGRIND_NO_GPU "CUDA's driver does not run under Callgrind; give --device cpu, or leave it out"

typedef struct benchmark_settings {
  const char *method;                 /* "timeit", "blocked_autorange", "adaptive_autorange" */
  int64_t number, min_blocks;         /* number 0: grow */
  int64_t min_run_time, max_run_time; /* ns; min 0: the method's own */
  int64_t max_warmup_time;            /* ns; 0: warmup_steps alone */
  double threshold;
  int64_t threads; /* 0: as [device] says */
  bool cold_cache, device_time;
  int64_t callgrind, callgrind_repeats;              /* steps in a count, 0: none; counts */
  int64_t callgrind_max_time;                        /* ns */
  const char *label, *sub_label, *description, *env; /* "": none */
  const char *output;                                /* "": no file; <scenario> replaced */
} benchmark_settings;

#define TRUTH_CURES_AUTO "auto"
typedef struct truth_settings {
  int64_t interleave, block; /* rounds of two blocks; steps of a block */
  const char *cures;         /* TRUTH_CURES_AUTO, or "none" */
} truth_settings;

typedef struct core_section {
  const char *name; /* "data" */
  const char *summary;
  const pd_option *rows; /* A PD_INT row with `choices` also takes these words: the n-th is -1 - n */
  uint32_t count;
} core_section;

enum {
  CORE_RUN = 0,
  CORE_SCHEDULE = 1,
  CORE_DATA = 2,
  CORE_TRAIN = 3,
  CORE_PROFILE = 4,
  CORE_BENCHMARK = 5,
  CORE_TRUTH = 6,
  CORE_SECTION_COUNT = 7
};
const core_section *core_section_at(uint32_t index);
/* "run, schedule, data": all of them, for messages. */
const char *core_section_names(char *text, size_t room);

/* Another name of a key: profile_steps of [schedule] active. NULL: it is none. */
const char *core_alias(const char *section, const char *key);
/* All of them. */
typedef struct core_alias_row {
  const char *section, *alias, *key;
} core_alias_row;
const core_alias_row *core_aliases(uint32_t *count);

#endif
