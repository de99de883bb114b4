/*
 * The published rules of other tools, over our traces: what each would say of a window. Each file names its rule's
 * source, its thresholds and how its words map to our causes; nothing of their code is used.
 *
 * A rule answers with a cause as scenarios spell it, RIVAL_SILENT where it finds nothing to complain of, or
 * RIVAL_UNNAMED where it complains without a cause of ours. NULL: no memory.
 */
#ifndef CORE_SCORE_RIVALS_RIVALS_H
#define CORE_SCORE_RIVALS_RIVALS_H

#include "facts/facts.h"

#define RIVAL_SILENT "none"
#define RIVAL_UNNAMED "unnamed"

typedef struct rival {
  const char *key, *title;
  const char *(*judge)(const trace_facts *facts);
} rival;

enum { RIVAL_COUNT = 5 };
extern const rival *const rival_all[RIVAL_COUNT];

extern const rival rival_tb_plugin, rival_xprof, rival_traceml, rival_nsys, rival_paddle;

#endif
