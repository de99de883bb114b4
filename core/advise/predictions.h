/* Records a window of a run, and predicts by its replay what each cause and its cures bring. [main thread]
 */
#ifndef CORE_ADVISE_PREDICTIONS_H
#define CORE_ADVISE_PREDICTIONS_H

#include "config/cli_args.h"
#include "ledger/cures.h"

/* One cause that the window can show, with all that takes it away; or VERDICT_none, which gains nothing. */
typedef struct prediction {
  uint32_t cause;         /* VERDICT_... */
  double gain, low, high; /* of the step, 0..1, with the interval's ends (gains.h) */
  cure cures[CURES_MOST];
  uint32_t cure_count;
} prediction;

typedef struct predictions {
  prediction all[VERDICT_COUNT]; /* what its first cure saves, the most first */
  uint32_t count;
  double step_ns; /* mean, without the recorder */
  double busy;    /* the device's share of it */
  char device[64], scenario[64];
  const char *withheld; /* why the window's verdict is; NULL: it is not */
  arena texts;
} predictions;

/* Records a window of the run of `args` with `set` ("train.fused=true ..." or "") on top, in a process of its own, in
 * `folder`, which it makes. False: the run failed or a signal ended it, see `err`, which `where` begins ("whatif").
 * predictions_free is due in any case; `out` is zeroed at first. */
bool predictions_record(const cli_args *args, const char *set, const char *folder, const char *where, predictions *out,
                        error *err);
void predictions_free(predictions *self);

/* "launch-bound", from the text of a cause; for VERDICT_none, what its cures are for. */
const char *predictions_name(uint32_t cause, char *text, size_t room);

#endif
