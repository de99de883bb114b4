/* The truth.json beside a run's window: what the injection does to the step, as the run itself measured it. */
#ifndef CORE_SCORE_TRUTH_FILE_H
#define CORE_SCORE_TRUTH_FILE_H

#include <stdbool.h>
#include <stdint.h>

enum { TRUTH_LABEL_CURES = 16 };

/* What a cure of the run really saves of the step. */
typedef struct truth_label_cure {
  char cause[32];
  bool predicted;          /* the gain of its cause is a prediction of it */
  bool is_graph;           /* it launches the same kernels as one CUDA graph */
  double share, low, high; /* with the interval's ends */
  double step_ns;          /* the step that it shortens; 0: not known */
} truth_label_cure;

typedef struct truth_label {
  double effect;    /* share of the step, against interleaved control steps; NaN: not measured */
  double step_ns;   /* the step with the injection; 0: not known */
  double also;      /* the same of what the loader injects beside the scenario */
  bool is_off_path; /* the injection is there and does not lengthen the step */
  truth_label_cure cures[TRUTH_LABEL_CURES]; /* that ran, [truth] cures */
  uint32_t cure_count;
} truth_label;

/* A file that is missing or unreadable measured nothing. */
truth_label truth_label_read(const char *path);

#endif
