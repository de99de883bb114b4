/* pdhost sink ABI: a plugin that writes what a run measured. */
#ifndef PDHOST_SINK_H
#define PDHOST_SINK_H

#include "analysis.h"
#include "trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One key of the effective configuration. */
typedef struct pd_setting {
  const char *section, *key, *value;
  const char *origin;  /* "default", "preset of dataloader", "conf/x.ini:12", "command line" */
  uint32_t is_default; /* 1: equal to the row's default */
  uint32_t reserved;
} pd_setting;

/* What is known before the first step. Owned by the host until close returns. */
typedef struct pd_run {
  uint32_t size;
  uint32_t pid;
  int64_t start_realtime_ns;
  const char *scenario, *scenario_version, *bottleneck;
  const char *device_name; /* "cpu", "cuda" */
  const char *pdhost_version;
  const char *command_line;
  const char *trace_dir; /* made before open; where it could not be, files there fail to open */
  const char *worker;    /* "<host>_<pid>" */
  const char *host_name;
  const pd_device_props *device;
  pd_array settings; /* of pd_setting */
  uint64_t seed;
  /* batch_size is 0 where it is not known: for a program that was recorded, or whose trace was read. Then the other
   * two, pin_memory, amp and channels_last are not known either. */
  int64_t batch_size, num_workers, image_size;
  uint32_t pin_memory, amp, channels_last, sync_timing;
  uint64_t total_steps;                              /* of the loop; 0: not known beforehand */
  uint64_t skip_first, wait, warmup, active, repeat; /* active: UINT64_MAX records all; repeat: 0 repeats without end */
  uint32_t record_shapes, profile_memory, with_stack, with_flops, with_modules, timer_only;
  const char *fallback;  /* why `auto` took the CPU; NULL: it did not */
  const pd_cure *cures;  /* the scenario's: pd_scenario_ops; NULL: none */
  pd_offers offers;      /* what the run could have: pd_offers */
  uint32_t quiet;        /* the user asked for the result alone (-q): the verdict in one line, or nothing */
  const char *source_id; /* git id of the sources that pdhost was built from; "unknown" */
  uint32_t rank, ranks;  /* which of the ranks this is; ranks 1: there is one */
  const char *backend;   /* of the collectives: "nccl", "mpi"; NULL: one rank */
} pd_run;

/* One step of the loop, of any phase. */
typedef struct pd_step_stats {
  uint32_t size;
  pd_phase phase;
  uint64_t index;
  uint32_t window; /* of an active step, else PD_NONE */
  uint32_t reserved;
  int64_t data_wait_ns;
  int64_t step_time_ns;  /* what follows the wait; without sync_timing the device's time */
  int64_t batch_cost_ns; /* the whole step: from the end of the previous step, or from where the loop went on
                          * after work between steps, to the end of this one; without sync_timing by the device's clock,
                          * as step_time_ns */
  double loss;           /* NaN where the loss was not read */
  double loss_scale;     /* 1 without amp */
  uint64_t allocated_bytes, reserved_bytes;
  int64_t end_realtime_ns;
} pd_step_stats;

/* How n values are spread, in their own unit. count = 0: all zero. */
typedef struct pd_spread {
  uint64_t count;
  double mean, median, min, max, p10, p90;
} pd_spread;

typedef uint32_t pd_outcome;
enum { PD_RUN_COMPLETE = 0, PD_RUN_INTERRUPTED = 1, PD_RUN_FAILED = 2 };

typedef const char *pd_note;

/* What is known at the end: the figures that every run reports. */
typedef struct pd_summary {
  uint32_t size;
  pd_outcome outcome;
  const char *reason;                            /* why it is not COMPLETE ("SIGINT", the error line), or NULL */
  uint64_t steps;                                /* of the loop that were done */
  uint64_t windows;                              /* finished */
  double avg_step_time_s, avg_dataloader_wait_s; /* means over all steps of the loop, as the PyTorch script has them */
  pd_spread step_time_s, data_wait_s;            /* over active steps */
  pd_spread batch_cost_s;                        /* over active steps */
  double steps_per_s, samples_per_s;             /* over active steps: count over their total batch_cost_ns;
                                                  * samples: NaN where the batch size is not known */
  double first_batch_s;                          /* wait for the first batch of the loop's iterator */
  uint64_t peak_allocated_bytes, peak_reserved_bytes;
  pd_array losses;    /* of double: the loss of every step of the loop */
  pd_array steps_all; /* of pd_step_stats: every step of the loop */
  double coverage;    /* over all windows; NaN where `profile` is not FULL */
  uint64_t lost[16];  /* by pd_loss, over all windows */
  pd_profile_mode profile;
  uint32_t reserved;
  const char *profile_note;
  const char *sync_note; /* how step times were measured */
  int64_t corrected_ns;  /* most that a device record's time was moved, see pd_trace */
  pd_array notes;        /* of pd_note: the warnings of the run, one line each */
  /* Energy of the whole GPU over all steps of the loop and what lies between them, by NVML's counter, in joules. 0: not
   * known, since there is no such counter, or the loop took less than a second. */
  double energy_j, energy_j_per_step, energy_j_per_sample;
  /* How often the user paused the recording, and for how long in all, up to the last window. */
  uint64_t pauses;
  double paused_s;
  /* Energy of the processors' packages over the same time, by the system's powercap, in joules. 0: not known, since
   * this user may not read the counters, or as above. */
  double processor_energy_j, processor_energy_j_per_step, processor_energy_j_per_sample;
  /* Why the processors' energy is not known although the system counts it, one line. NULL: it is, or there is no such
   * counter. */
  const char *processor_energy_note;
  /* What a step of the scenario was to take for what it injects, in microseconds, and what that came to. 0: it was not
   * dialled by time. */
  double dial_asked_us, dial_injected_us;
} pd_summary;

/* A callback that fails is reported, its sink is closed and dropped; the run and the other sinks go on. */
typedef struct pd_sink_ops {
  uint32_t size;
  uint32_t reserved PD_OR_ZERO;
  /* `options` is filled and checked, and valid until close returns, and so is `run`. On failure *state stays NULL.
   * [loop thread] */
  pd_status (*open)(const pd_host *host, const void *options, const pd_run *run, void **state);
  /* Optional: after every step of the loop. Must be quick: it runs between steps. [loop thread] */
  pd_status (*on_step)(void *state, const pd_step_stats *stats) PD_OR_ZERO;
  /* Optional: after every finished window, and after on_step of all its steps; `trace` is borrowed until the call
   * returns. [loop thread] */
  pd_status (*on_trace_ready)(void *state, const pd_trace *trace) PD_OR_ZERO;
  /* Called once after every open that returned PD_OK. `summary` is borrowed until it returns; NULL when the sink was
   * dropped: then close and free only. Files that this run did not finish are marked partial. [loop thread] */
  pd_status (*close)(void *state, const pd_summary *summary);
  uint32_t flags PD_OR_ZERO; /* PD_SINK_* */
  uint32_t reserved_flags PD_OR_ZERO;
} pd_sink_ops;
enum {
  PD_SINK_CLOSES_LAST = 1, /* after the other sinks, so that it can name their files: pd_files.next_written */
  PD_SINK_TRACE_FIRST =
      2 /* on_trace_ready before the other sinks': it needs the tables last, see pd_analysis.prepare */
};

/* Files that the host writes: under a temporary name in the same folder, renamed when whole. */
#define PD_EXT_FILES "pdhost.files/1"
typedef struct pd_file pd_file;
typedef struct pd_files {
  uint32_t size;
  uint32_t reserved;
  void *impl;
  /* Opens `path` for writing, and makes its folders. "-" is standard output, which one sink of a run may have: a run in
   * which two path options of sinks say "-" does not begin. A path that is open already, or that another sink of the
   * run has written, is refused. The failure's message names path and cause. [any thread] */
  pd_status (*open)(const struct pd_files *files, const char *path, pd_file **file);
  /* Buffered by the caller: each call is one write. After a failed write all fail. [thread of open] */
  pd_status (*write)(pd_file *file, const void *data, uint64_t bytes);
  /* Renames to the final name (commit), or removes the temporary file (discard). Frees `file` either way, and a file
   * whose write failed is discarded with the failure's status. A file that a signal or a crash of the run cuts
   * short keeps the ending ".partial". [thread of open] */
  pd_status (*commit)(pd_file *file);
  void (*discard)(pd_file *file);
  /* Tells the user, at the end, that `path` was written. [any thread] */
  void (*announce)(const struct pd_files *files, const char *path);
  /* The next line of what this run has written that was not yet reported to the user: a path, or "12 files in FOLDER/";
   * NULL: there is no more. Whoever asks reports it to the user; the host names the rest on standard error. Valid until
   * the next call. [loop thread] */
  const char *(*next_written)(const struct pd_files *files);
} pd_files;

#define PD_SINK(name_, version_, summary_, T, rows, ...)                                                               \
  static const pd_sink_ops pd_ops_ = {.size = sizeof(pd_sink_ops), __VA_ARGS__};                                       \
  PD_PLUGIN(PD_KIND_SINK, sink, pd_ops_, name_, version_, summary_, T, rows)
#define PD_SINK_PLAIN(name_, version_, summary_, ...)                                                                  \
  static const pd_sink_ops pd_ops_ = {.size = sizeof(pd_sink_ops), __VA_ARGS__};                                       \
  PD_PLUGIN_PLAIN(PD_KIND_SINK, sink, pd_ops_, name_, version_, summary_)

#ifdef __cplusplus
}
#endif
#endif
