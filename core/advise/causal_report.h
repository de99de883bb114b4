/* What `pdhost causal` says. [main thread] */
#ifndef CORE_ADVISE_CAUSAL_REPORT_H
#define CORE_ADVISE_CAUSAL_REPORT_H

#include "causal_parts.h"
#include "predictions.h"

typedef struct causal_report {
  const predictions *of;
  const causal_parts *parts;
  const causal_rules *rules;
} causal_report;

/* The causes that lie in a part, by their largest gain; NULL: the window can show none of them. */
const prediction *causal_report_prediction(const predictions *of, delays_part part);
/* The verdict gains at least 5 % by what lies in a part whose delays do not show; but launching may lie in the kernels,
 * whose delays do. */
bool causal_report_contradicts(const prediction *gain, const causal_parts *parts, delays_part which);

/* False on no memory. */
bool causal_report_text(const causal_report *self);
bool causal_report_json(const causal_report *self);

#endif
