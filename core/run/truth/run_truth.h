/* What the scenario injected, measured, and what it does to the step; behind PD_EXT_TRUTH. [loop thread] */
#ifndef CORE_RUN_RUN_TRUTH_H
#define CORE_RUN_RUN_TRUTH_H

#include "truth_effect.h"

#include <pdhost/sink.h>
#include <pdhost/truth.h>

typedef struct truth truth;

/* NULL on no memory. */
/* `folder`: as step_log_open has it. */
truth *truth_open(const char *folder);
/* The device must still be open, if there was one. */
void truth_close(truth *self);
const pd_truth *truth_table(const truth *self);
/* Where device time is measured. */
void truth_use_device(truth *self, const pd_device_access *access);

/* A step begins; only an active one is measured. */
void truth_step_begin(truth *self, pd_phase phase);
/* What the loader injected into the step's batch, and what it was asked to: nanoseconds. */
void truth_step_loaded(truth *self, int64_t asked_ns, int64_t measured_ns);
/* It is over. PD_NO_MEMORY is the only failure. */
pd_status truth_step(truth *self, const pd_step_stats *stats);
/* The time of a step that was not waited for is known now, in the order of the steps. */
void truth_step_timed(truth *self, const pd_step_stats *stats);
/* Reads the device times of the steps so far. Their work is done; outside windows. */
void truth_settle(truth *self);

/* One round of steps with and without the injection. */
pd_status truth_round(truth *self, const truth_block_pair *pair);
/* The same of what the loader injects beside the scenario. */
pd_status truth_round_input(truth *self, double with_ns, double without_ns);

/* The rounds of a cure begin: `settings` is what takes `cause` away, and the cause's gain is to predict what it saves
 * or not. Texts are copied. PD_NO_MEMORY alone. */
pd_status truth_cure(truth *self, const char *cause, const char *settings, bool predicted);
/* One round of steps as they are and with the cure that began last. */
pd_status truth_round_cure(truth *self, double with_ns, double without_ns);

/* The scenario injects what makes its step as much longer: microseconds, or a share of it (the other is 0). How much
 * that came to is the effect of the rounds, which have `amount` on average; what the scenario says itself of what it
 * was asked for is set aside. */
void truth_dial(truth *self, double us, double share, double amount);
/* What the rounds so far say of it: the effect over what was asked for, less 1, and the standard error of that. False:
 * no effect was asked for, there are no rounds, or there is no memory. */
bool truth_dial_effect(const truth *self, double *off, double *unsure);
/* Rounds that tell it, at least. */
#define TRUTH_DIAL_ROUNDS 8

/* Active steps so far. */
uint64_t truth_steps(const truth *self);

/* What a step was to take for what the scenario injects, and what that came to, in microseconds. False: it was not
 * dialled by time, or there is no memory. */
bool truth_dialled(const truth *self, const pd_run *run, double *asked_us, double *injected_us);

/* Warns where what was injected is off what was asked for by more than TRUTH_DIAL_ERROR per cent, and by more than
 * chance explains. */
#define TRUTH_DIAL_ERROR 5
void truth_tell(const truth *self, const pd_run *run);

/* Writes trace_dir/truth/truth.json. */
pd_status truth_write(const truth *self, const pd_files *files, const pd_run *run);

#endif
