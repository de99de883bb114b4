/* The replays that the gains are made of, each made once, and what bounds them from below: how long the device is busy
 * with what is left. Many causes have nothing in a program: without them the replay is the one with them. [one thread
 * at a time for a trace]
 */
#ifndef CORE_LEDGER_GAINS_REPLAYS_H
#define CORE_LEDGER_GAINS_REPLAYS_H

#include "program.h"

/* More variants than one window asks for are replayed again, and more sets of records counted again. */
enum { GAINS_REPLAYS_KNOWN = 128, GAINS_REPLAYS_BUSY = 16, GAINS_REPLAYS_THREADS = 4 };

/* A device record. */
typedef struct gains_span {
  int64_t start_ns, end_ns;
  int32_t fixed_ns;     /* of it, what goes where launching costs nothing */
  float part;           /* of the device that it takes, 0..1 */
  replay_owners owners; /* with any of them it goes */
} gains_span;

typedef struct gains_known {
  replay_variant variant;
  double mean;
} gains_known;

/* How long the device is busy without some records, or parts of them; in turn: as if each took all of it. */
typedef struct gains_busy {
  replay_owners without;
  bool without_fixed, in_turn;
  double mean;
} gains_busy;

/* One replay of several that are made at once. */
typedef struct gains_job {
  replay_variant variant;
  double *steps; /* gets the judged steps; NULL: their mean is enough */
  double mean;
} gains_job;

typedef struct gains_replays {
  const replay *replay;
  gains_span *spans; /* of the judged steps, by start */
  int64_t *bounds;   /* of the replay that was made last */
  uint32_t span_count, known_count;
  uint32_t first, count; /* steps that are judged */
  replay_owners owners;  /* that items or records have */
  replay_owners span_owners;
  bool has_apart, has_delayed, has_inside;
  uint32_t busy_count;
  gains_known known[GAINS_REPLAYS_KNOWN];
  gains_busy busy[GAINS_REPLAYS_BUSY];
} gains_replays;

/* Borrows the timeline and its program. false on no memory. Close it in any case. */
bool gains_replays_open(gains_replays *self, const timeline *of, const program *made, uint32_t first, uint32_t count);
void gains_replays_close(gains_replays *self);

/* The same steps come of both. */
bool gains_replays_alike(const gains_replays *self, const replay_variant *a, const replay_variant *b);
/* Mean of the judged steps, by a replay; `bounds` are its. */
double gains_replays_make(gains_replays *self, const replay_variant *variant);
/* Makes several, of long programs on as many threads as there are processors, up to four. Their means are then known to
 * gains_replays_mean. `bounds` are any's. */
void gains_replays_make_all(gains_replays *self, gains_job *jobs, uint32_t count);
/* The program has changed: what is known of replays no longer holds. */
void gains_replays_forget(gains_replays *self);
/* Makes those of `variants` whose means are not known. */
void gains_replays_know(gains_replays *self, const replay_variant *variants, uint32_t count);
/* The mean of a replay that was made before, where there is one; `bounds` may be those of any. */
double gains_replays_mean(gains_replays *self, const replay_variant *variant);
/* What a step takes at least, 0: nothing bounds it. Where launches or records go, kernels of several streams come to
 * lie beside each other, as if each had a device of its own. Until all their work is done a step cannot end: it takes
 * no less than the device was busy with what is left, or than what is left takes where it lies beside each other as far
 * as there is room. Delays that are to go may have been for want of room, so with `eager` each record takes the whole
 * device. Streams that run apart are meant to lie beside each other. */
double gains_replays_least(gains_replays *self, const replay_variant *variant);

#endif
