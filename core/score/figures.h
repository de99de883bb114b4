/* How often the verdict was right: pure arithmetic on cells. */
#ifndef CORE_SCORE_FIGURES_H
#define CORE_SCORE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

enum { FIGURES_CAUSES = 24, FIGURES_ROUNDS = 1000 };

/* One judged run. */
typedef struct judged {
  uint32_t truth, verdict; /* causes; 0 is none */
  bool counts;             /* its effect is large enough, or it is a baseline */
  double effect, share;    /* of the step, 0..1; effect: 1 - baseline's step / its own */
} judged;

typedef struct cause_figures {
  uint32_t runs, named, right; /* counted runs of the cause, verdicts of it, both */
  double precision, recall, f1;
} cause_figures;

typedef struct figures {
  uint32_t causes;
  uint32_t matrix[FIGURES_CAUSES][FIGURES_CAUSES]; /* truth, verdict */
  cause_figures of[FIGURES_CAUSES];
  double macro_f1, macro_low, macro_high; /* over causes with runs; 95 % by resampling the runs */
  uint32_t baselines, false_alarms;
  double error_median, error_p95; /* of right verdicts on a cause: |share - effect| in percentage points */
  uint32_t counted, left_out;
} figures;

/* `causes` of `cells` are below it and below FIGURES_CAUSES. False on no memory. */
bool figures_make(const judged *cells, uint32_t count, uint32_t causes, figures *out);

#endif
