/*
 * Which settings take a cause away: the one table that the verdict's advice, `pdhost whatif`, `pdhost tune` and
 * [truth] cures go by, and what to type for it. A run is offered what it does not have yet and what its device and its
 * other settings allow. [loop thread]
 */
#ifndef CORE_LEDGER_CURES_H
#define CORE_LEDGER_CURES_H

#include "gains.h"
#include "base/arena.h"

#include <pdhost/scenario.h>

/* What the cures rest on. */
typedef struct verdict_setting {
  const trace_facts *facts; /* of a window; NULL: none was recorded yet */
  const gains *gains;       /* of the same; NULL with `facts` */
  const pd_cure *cures;     /* the scenario's; NULL: none */
  pd_offers offers;         /* what the run could have; not known: all that this kind of device may have */
  uint32_t cores;           /* that the process may use */
  int64_t num_workers;      /* of the loader; 0: none, or not known */
  bool is_cuda;
  arena *arena; /* of the texts */
} verdict_setting;

typedef struct cure {
  const char *settings;    /* "data.num_workers=8 data.prefetch_factor=4" */
  const char *unpredicted; /* why the cause's gain is not this cure's, for a reader; NULL: it is */
  double part;             /* of the cause's gain that this cure brings, 0..1; 1 where nothing was recorded yet */
  double more;             /* of the step, what it saves beside the cause's gain */
  bool unblocks;           /* it takes blocking calls away, too: the gain of its cause alone is not its prediction */
} cure;

/* What it saves of the step where the cause gains so much. */
static inline double cure_saves(const cure *self, double gain) { return self->part * gain + self->more; }

enum { CURES_MOST = 4 };

/* What takes `cause` (VERDICT_...) out of the run: the scenario's own cure first, then settings of the core's, those
 * whose gain the replay predicts before the others. For VERDICT_none, what may make a busy device faster without
 * changing what is computed. Against blocking calls in float16, train.scaler_sync=false is added to the scenario's
 * cure, or is the only cure. Returns their number; texts are the arena's, or static. */
uint32_t cures_find(const verdict_setting *self, uint32_t cause, cure out[CURES_MOST]);

typedef struct verdict_advice {
  const char *options;   /* of the next command */
  const char *overrides; /* "data.num_workers=8 data.prefetch_factor=4"; NULL: nothing to change, look closer */
  cure saves;            /* what these bring: cure_saves; without them the whole gain of the cause */
} verdict_advice;

/* The first cure whose gain is predicted, else a closer look: what no replay can tell is not suggested. Texts
 * are the arena's. `self` has facts. */
verdict_advice verdict_advise(const verdict_setting *self, uint32_t cause);

#endif
