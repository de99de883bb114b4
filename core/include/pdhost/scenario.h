/* pdhost scenario ABI: a plugin that decides what one training step does. */
#ifndef PDHOST_SCENARIO_H
#define PDHOST_SCENARIO_H

#include "plugin.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One batch as the loader made it. Host memory; the loop's until step() returns. */
typedef struct pd_batch {
  uint32_t size;
  uint32_t pinned;       /* 1: page-locked, so that the copy to the device can be asynchronous */
  uint64_t index;        /* from 0 within its iterator */
  int64_t count;         /* N, samples */
  int64_t channels;      /* C = 3 */
  int64_t height, width; /* H, W */
  const float *images;   /* (N,C,H,W) */
  const int64_t *labels; /* (N), 0..999 */
  uint64_t resident;     /* 0: copy it. Else a number that names this batch for the whole run: the training kit keeps
                          * one device copy per number and copies only once ([data] resident = device) */
} pd_batch;

typedef uint32_t pd_phase;
enum {
  PD_PHASE_WARMUP_STEPS = 0,
  PD_PHASE_SKIP = 1,
  PD_PHASE_WAIT = 2,
  PD_PHASE_WARMUP = 3,
  PD_PHASE_ACTIVE = 4,
  PD_PHASE_PAUSED = 5 /* the user paused the recording: the schedule waits, too */
};

/* One step of the loop. Valid until step() returns. */
typedef struct pd_step {
  uint32_t size;
  pd_phase phase;        /* of the schedule; PD_PHASE_WARMUP_STEPS before the loop begins */
  uint64_t index;        /* from 0, over the whole loop; over the warm-up steps while in that phase */
  const pd_batch *batch; /* a scenario may read and copy it, and keeps no pointer */
  uint32_t control;      /* 1: the same step without what the scenario injects, to compare with */
  uint32_t dialled;      /* 1: `amount` stands for the key that the scenario's `dial` names */
  double amount;         /* the value that takes the time asked for, as the host found it; see pd_kit_count */
} pd_step;

/* Whether the step is to have what the scenario injects. */
static inline bool pd_step_injects(const pd_step *step) { return !(PD_HAS(pd_step, step, control) && step->control); }

/* A preset that holds on one device only, over the device's own presets. */
typedef struct pd_device_preset {
  const char *device;      /* as --list names it: "cpu" */
  const char *key, *value; /* as in pd_preset; also keys of this scenario, as in "scenario.rounds" */
} pd_device_preset;

/* Settings that take a cause out of this scenario. The verdict suggests them where it has found that cause. In float16
 * the host adds train.scaler_sync = false to those against forced_sync. */
typedef struct pd_cure {
  const char *cause;    /* as the verdict spells it, or that on several ranks */
  const char *settings; /* "scenario.serial=false", several with one space between */
} pd_cure;

/* Settings that a verdict may suggest: the run does not have them, and its device and its other settings allow them. */
typedef uint32_t pd_offers;
enum {
  PD_OFFER_KNOWN = 1u << 0, /* the others are known */
  PD_OFFER_AMP = 1u << 1,   /* train.amp = true, and so on */
  PD_OFFER_CHANNELS_LAST = 1u << 2,
  PD_OFFER_CUDA_GRAPH = 1u << 3,
  PD_OFFER_FUSED = 1u << 4,
  PD_OFFER_PIN_MEMORY = 1u << 5,
  PD_OFFER_PREFETCH = 1u << 6, /* data.prefetch_to_device = true, with pinned memory */
  PD_OFFER_RESIDENT = 1u << 7, /* data.resident = device */
  /* train.scaler_sync = false with train.cuda_graph = true, where a graph cannot hold the loss scaler's read */
  PD_OFFER_UNREAD_GRAPH = 1u << 8,
  PD_OFFER_UNREAD_SCALER = 1u << 9 /* train.scaler_sync = false, where the loss scaler reads back */
};

typedef struct pd_scenario_ops {
  uint32_t size;
  /* 1: step() trains with pd_train's step(), which a CUDA graph can hold; 0: with its parts, or not at all. Without it
   * a graph is never suggested as a cure. */
  uint32_t whole_step PD_OR_ZERO;
  const char *bottleneck; /* the truth it injects, as the verdict spells it: "input_bound"; "none" for a baseline */
  const pd_preset *presets PD_OR_ZERO; /* ends with a NULL key; NULL: none */

  /* `options` is filled and checked, and valid until teardown returns. On failure *state stays NULL. [loop thread] */
  pd_status (*init)(const pd_host *host, const void *options, void **state);
  /* Returns PD_OK, PD_STOP to end the run early, or a failure that ends it. [loop thread] */
  pd_status (*step)(void *state, const pd_step *step);
  /* Called once after every init that returned PD_OK, whatever happened in between. [loop thread] */
  void (*teardown)(void *state);

  const pd_cure *cures PD_OR_ZERO; /* ends with a NULL cause; NULL: none */
  /* For example sizes at which the bottleneck shows on a slower device. Ends with a NULL device; NULL: none. */
  const pd_device_preset *device_presets PD_OR_ZERO;
  /* Optional: after the last step of a loop that did not fail, when its work is done: what the scenario asserts of the
   * whole run. Its failure is the run's. [loop thread] */
  pd_status (*finish)(void *state) PD_OR_ZERO;
  /* The key that says how much is injected, "reads_per_step", for a scenario that has the keys of PD_KIT_DIAL too: the
   * host looks for the value of it that takes the time that those ask for. NULL: none. */
  const char *dial PD_OR_ZERO;
  double dial_none PD_OR_ZERO; /* its value at which nothing is injected */
} pd_scenario_ops;

/* Defines the entry point. `rows` is an array of PD_OPTION over struct `T`; the rest fills pd_scenario_ops. */
#define PD_SCENARIO(name_, version_, summary_, T, rows, ...)                                                           \
  static const pd_scenario_ops pd_ops_ = {.size = sizeof(pd_scenario_ops), __VA_ARGS__};                               \
  PD_PLUGIN(PD_KIND_SCENARIO, scenario, pd_ops_, name_, version_, summary_, T, rows)
/* The same for a scenario without options. */
#define PD_SCENARIO_PLAIN(name_, version_, summary_, ...)                                                              \
  static const pd_scenario_ops pd_ops_ = {.size = sizeof(pd_scenario_ops), __VA_ARGS__};                               \
  PD_PLUGIN_PLAIN(PD_KIND_SCENARIO, scenario, pd_ops_, name_, version_, summary_)

#ifdef __cplusplus
}
#endif
#endif
