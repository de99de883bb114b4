/* What the gains are judged by: the program of a window, and its replays with causes taken away. [one thread at a time
 * for a trace] */
#ifndef CORE_LEDGER_GAINS_JUDGE_H
#define CORE_LEDGER_GAINS_JUDGE_H

#include "gains.h"
#include "gains_replays.h"

/* The variants whose steps are kept for resampling: one for each cause, what launching is measured against, and
 * launching gone alone. */
enum { GAINS_RUN_NOW = VERDICT_COUNT, GAINS_RUN_REST, GAINS_RUN_GRAPH, GAINS_RUN_COUNT };

typedef struct gains_judge {
  timeline timeline;
  program program;
  gains_replays *replays;
  double *steps;         /* GAINS_RUN_COUNT lists of `count` */
  uint32_t first, count; /* steps that are judged */
  bool chains;           /* serial streams: chains are removed, not only their waits */
  bool applies[VERDICT_COUNT];
  gains *out;
} gains_judge;

/* Needs the timeline and the program open; false on no memory. Close it in any case. */
bool gains_judge_open_steps(gains_judge *self);
void gains_judge_close_steps(gains_judge *self);

/* Whether the samples of a step go through the model in several passes. */
bool gains_judge_is_several(const gains_judge *self);
/* Takes one more cause away. */
void gains_judge_remove(const gains_judge *self, uint32_t cause, replay_variant *from);
/* Mean of the judged steps of a replay, or what the device or the loader's workers take at least. */
double gains_judge_mean(const gains_judge *self, const replay_variant *variant);
/* All runs of one `keep`, kept in `steps`; their means go to `means`, of GAINS_RUN_COUNT. */
void gains_judge_run(const gains_judge *self, double keep, double *means);
double gains_judge_gain(const double *means, uint32_t cause);

/* No step takes less than the loader's workers need for a batch. A loop that recording slows down may wait for no
 * batch, though it would wait without the recorder. A window may use batches that were made before it, so that the
 * bound is at most the recorded step. */
void gains_judge_set_loader(gains_judge *self);

/* Sets `captured`, `uncopied` and `unsynced` of `out` (gains.h). `means` are those of gains_judge_run for `out->keep`.
 * The gains of the causes have to be set before. */
void gains_judge_set_cures(const gains_judge *self, const double *means);

/* What a gain has to be for a name: of any cause, and of this one. */
double gains_judge_least(const gains_judge *self);
double gains_judge_least_of(const gains_judge *self, uint32_t cause);
/* What a gain is ranked by: of launching, only what a graph saves counts beside what others save. */
double gains_judge_worth(const gains_judge *self, uint32_t cause, double gain);

/* How much of the launching is the program's own, and of the gaps within graphs (replay.inside). The gaps of a full
 * queue get shorter in the program where that is needed. What recording adds goes to `out`, where the run itself says
 * it. */
bool gains_judge_keep(gains_judge *self, double recorded_ns, double *keep);

#endif
