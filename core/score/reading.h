/* What a run's window says: our verdict, computed again from the window's records, and every rival's. */
#ifndef CORE_SCORE_READING_H
#define CORE_SCORE_READING_H

#include "truth_file.h"
#include "base/error.h"
#include "ledger/verdict.h"
#include "score/rivals/rivals.h"

#include <math.h>

enum { READING_TEXT = 192 };

typedef struct reading {
  char cause[32];         /* the verdict; "withheld"; "failed" where there is no window */
  char fix[READING_TEXT]; /* SECTION.KEY=VALUE ... that it suggests; "" for none */
  const char *rivals[RIVAL_COUNT];
  double share, repeatable;     /* 0..1 */
  double step_ns;               /* mean of the steps that the verdict rests on; 0 for none */
  double recorded_ns;           /* mean of all steps of the window, with what recording adds; 0 for none */
  double unprofiled_ns;         /* the step before the window, without the recorder; 0: not known */
  double expected_ns;           /* the step without the cause; 0 for none */
  double idle_ns, unknown_ns;   /* of all steps, from the ledger */
  double least;                 /* gain from which a cause is named, of its kind of device */
  double shares[VERDICT_COUNT]; /* what the step would save without each cause, 0..1 */
  double captured;              /* what it would save as a CUDA graph of the same kernels */
  bool in_graphs;               /* graphs launch most of its device records already */
  truth_label label;            /* what the run measured of its injection */
} reading;

/* What a run that left nothing to read counts as. */
#define READING_FAILED ((reading){.cause = "failed", .label = {.effect = NAN, .also = NAN}})

/* The share of a cause as scenarios spell it; 0: there is no such cause. */
double reading_share(const reading *self, const char *cause);

/* All but `label`, which the run writes beside it. False: the window cannot be read, see `err`. */
bool reading_of(const char *window_path, reading *out, error *err);

#endif
