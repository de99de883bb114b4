/* Everything of one run that its parts (run.c, loop.c, run_window.c) share. The run's own; no plugin sees it. */
#ifndef CORE_RUN_RUN_STATE_H
#define CORE_RUN_RUN_STATE_H

#include "sink_set.h"
#include "step_log.h"
#include "unprofiled.h"
#include "truth/dial_pace.h"
#include "truth/run_truth.h"
#include "abi/services.h"
#include "base/log.h"
#include "config/config.h"

#include "tables/window_tables.h"
#include "data/loader.h"
#include "guard.h"
#include "trace/recorder.h"
#include "train/train_kit.h"

#include <pdhost/sink.h>

/* The events of a step ([run] sync_timing = false). */
typedef struct step_events {
  pd_event *start, *end;
  pd_event *restart; /* where its iteration begins, if that is not the end of the step before */
  bool restarts;
} step_events;

/* Steps whose device time has not been read yet, at most. */
#define RUN_STEP_EVENTS 1024

/* While the user has the recording paused, the loop goes on and the schedule does not. */
typedef struct run_pause {
  bool on;
  int64_t since_ns;   /* CLOCK_MONOTONIC; while it is on */
  uint64_t count;     /* how often it was */
  uint64_t steps;     /* of the loop that were done meanwhile */
  int64_t all_ns;     /* of those that are over */
  int64_t unshown_ns; /* since the last window; that of the open one in window_ns */
  int64_t window_ns;  /* pd_trace.paused_ns */
  bool was_refused;   /* which was said */
} run_pause;

typedef struct run_state {
  services services;

  const config *settings;

  const char *scenario_name;
  const pd_scenario_ops *scenario;
  void *scenario_state;
  service_host *scenario_host;
  bool scenario_ready; /* init returned PD_OK: teardown is due */

  const struct run_state *beside; /* the run whose device this one uses (run_device.h); NULL: it has its own */
  const pd_device_ops *device_ops;
  uint64_t peak_before_bytes; /* of that device's memory, before this run */
  pd_device_access access;
  pd_device_props props;
  pd_offers offers;
  service_host *device_host;
  service_host *core_host; /* training kit and loader fail through it */

  recorder *recorder;
  const pd_record *record;
  analysis *analysis;
  data_loader *loader;
  train_kit *kit;
  sink_set *sinks;             /* NULL: a writer has them */
  struct run_capture *capture; /* NULL: none is kept */
  struct manifest *manifest;
  char folder_fault[1024]; /* why nothing can be written to trace_dir, "" when it can */
  step_log *log;
  truth *truth;
  struct delays *delays; /* what slows its steps down (pdhost causal); NULL: nothing */
  guard *watch;          /* of the loop; NULL: the step is timed alone, or there was no memory */

  schedule plan;
  uint64_t warmup_steps, max_steps; /* max_steps 0: no limit */
  uint64_t epochs;                  /* 0: no limit */
  uint64_t truth_rounds, truth_block;
  bool dialled;       /* its steps have this amount in place of the scenario's own (truth/dial_run.h) */
  bool dialled_count; /* it is a mean: each step has a whole number */
  double amount;
  dial_pace pace; /* where it is dialled: the pace that the amount follows */
  /* Steps with it before the scheduled ones: a fraction of a count falls on other steps of each block. */
  uint64_t dialled_steps;
  bool sync_timing, timer_only, amp, prefetch_to_device;
  bool benchmark; /* the step is timed alone */
  pd_profile_options profile_options;
  struct rank_live *live;   /* NULL: one rank, or a run within another */
  struct rank_group *ranks; /* NULL: one rank */
  uint64_t deliver_every;   /* outside windows, steps go to the sinks in groups of this many */
  bool quiet;
  bool sinks_ended; /* one ended its process, so that its output is made of the capture */

  /* run_report.c, run_device.c */
  char host_name[64], worker[128];
  const char *notes[LOG_WARNINGS_KEPT]; /* of the summary */
  char fallback[1024];                  /* why `auto` took the CPU, "" when it did not */

  /* run_window.c */
  bool attached, started, in_window;
  uint32_t window;
  recorder_step *window_steps;                            /* of the window, handed to the recorder at its end */
  double window_stopped_s;                                /* the process stood still before it began */
  uint64_t window_allocated_bytes, window_reserved_bytes; /* of device memory when it began */
  uint64_t window_count, window_room;
  uint64_t windows_done;
  uint32_t splits; /* windows that ended early: they filled the memory, or the user paused */
  bool told_full;  /* that they filled the memory */
  run_pause pause;
  struct series *series;                /* NULL: none is asked for */
  bool was_split;                       /* the next step begins a window */
  double window_used, window_step_most; /* of the recorder's memory: now, and a step of this window at most */
  double coverage_launches, coverage_matched;
  int64_t corrected_ns; /* of any window's device records */
  bool silent;          /* a window had operations and no launch */
  uint64_t lost[16];
  pd_profile_status profile;

  /* loop.c */
  step_events events[RUN_STEP_EVENTS];
  unprofiled unprofiled;
  uint64_t timed;      /* steps of the log whose step time is known */
  uint64_t loss_known; /* steps of the log whose loss was asked for */
  uint64_t delivered;  /* steps handed to the sinks */
  double loss_scale;
  double energy_j;           /* of the scheduled steps and what lies between them; 0: not known */
  double processor_energy_j; /* the same of the processors */
  uint64_t epochs_done;      /* of the scheduled steps */
  bool stopped;              /* the scenario asked for the end */
  bool data_ended;           /* before the planned steps were done */
  char failure[1024];        /* why the loop ended early, "" when it did not */
  pd_status failed;
} run_state;

#endif
