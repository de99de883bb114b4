/* What truth.json says: the figures of run_truth.h's measurement, and their text. */
#ifndef CORE_RUN_TRUTH_FIGURES_H
#define CORE_RUN_TRUTH_FIGURES_H

#include "truth_effect.h"

#include <pdhost/sink.h>

#include <stdio.h>

/* One active step. */
typedef struct truth_row {
  int64_t host_ns, device_ns; /* injected */
  int64_t loader_ns;          /* injected into its batch by the loader */
  int64_t cost_ns, wait_ns;
  uint64_t count;
  uint64_t step; /* its index in the loop */
} truth_row;

/* What takes a cause away, really run. */
typedef struct truth_cured {
  char *text; /* both of the next */
  const char *cause, *settings;
  bool predicted; /* by the gain of its cause */
  truth_block_pair *own_rounds;
  truth_rounds rounds; /* as it is, and with the cure; 0: it did not run */
} truth_cured;

typedef struct truth_figures {
  const truth_row *rows;
  uint64_t row_count;
  truth_rounds rounds;       /* without what the scenario injects */
  truth_rounds input_rounds; /* without what the loader injects beside it */
  const truth_cured *cures;
  uint32_t cure_count;
  double dial_us, dial_share; /* what the step was to be longer by; one of them, and 0: not dialled by its effect */
  double asked_us;            /* below 0: not dialled by time */
  uint64_t asked_count;       /* 0: not dialled by count */
  int64_t asked_loader_ns;
  bool timed, counted, loaded; /* the scenario measured time; it counted; the loader was dialled by time */
} truth_figures;

/* What was asked for and what was injected, microseconds a step. */
typedef struct truth_dialled_time {
  double asked_us;        /* NaN: not dialled by time */
  double measured_us;     /* median of the steps; where the effect is dialled, what the rounds say */
  double low_us, high_us; /* 95 % interval of that; NaN where each step's time is measured itself */
} truth_dialled_time;

/* The scenario's (loader = false), or that of what the loader injects beside it. False: it is not dialled by time, or
 * there is no memory. */
bool truth_figures_dial(const truth_figures *self, const pd_run *run, bool loader, truth_dialled_time *out);
/* Per cent that `us` is off what was asked for. NaN where nothing was. */
double truth_figures_off(const truth_dialled_time *of, double us);

/* The document. False on no memory. */
bool truth_figures_print(const truth_figures *self, const pd_run *run, FILE *out);

#endif
