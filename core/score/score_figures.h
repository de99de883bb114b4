/* How often the verdict was right, and how far its figures were off: pure arithmetic on cells. */
#ifndef CORE_SCORE_SCORE_FIGURES_H
#define CORE_SCORE_SCORE_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

enum { FIGURES_CAUSES = 24, FIGURES_ROUNDS = 1000, FIGURES_BINS = 10, FIGURES_GAINS = 16 };

/* One judged run. */
typedef struct judged {
  uint32_t truth, verdict; /* causes; 0 is none */
  bool counts;             /* its effect is large enough, or it is a baseline */
  bool off_path;           /* the cause is there and hidden: it may not be named. Such a run never counts */
  bool untold;             /* nothing tells, or chance decides, what it is held up by: it is no alarm either */
  bool held_out;
  double effect, share;               /* of the step, 0..1; effect: 1 - baseline's step / its own */
  double repeatable;                  /* 0..1 */
  double idle_ns, unknown_ns;         /* of the ledger */
  double gain_errors[FIGURES_GAINS];  /* of a cause: gain - what its cure really saves, in percentage points */
  uint32_t gain_count, unknown_gains; /* unknown: of cures whose saving is not known well enough to judge by */
  double mixed_error;                 /* of two causes at once: mean of |share - effect| of both; NaN: there is one */
  double fix_error;      /* of the step predicted without the cause, against the step measured; NaN: not tried */
  bool fix_is_own;       /* what was tried is the scenario's own cure, which leaves its injection out */
  bool fix_without_step; /* it was to be tried, and left no step to compare with */
  bool fix_is_slower;    /* with what was tried the step takes longer: the suggestion is wrong */
} judged;

/* What has an interval. Shares and errors are 0..1, but for percentage points, which say so. NaN: no run to tell. */
typedef struct cause_figures {
  double precision, recall, f1;
  double limit50, limit95; /* smallest effect above 0 from which 50 % (95 %) of the runs are named */
} cause_figures;

typedef struct figures_values {
  double macro_f1;                /* mean F1 of causes with runs */
  double accuracy;                /* right verdicts over counted runs */
  double false_alarms;            /* of the baselines: a cause is named */
  double off_path_alarms;         /* of the runs off the path: a cause is named */
  double error_median, error_p95; /* of right verdicts on a cause: |share - effect| in percentage points */
  double calibration;             /* expected calibration error: mean of |repeatable - hit rate| over bins, by runs */
  double unknown;                 /* share of the idle time */
  double fix_error;               /* median */
  double own_fix_error, core_fix_error;     /* the same, of scenarios' own cures and of settings of the core */
  double mixed_error;                       /* of runs with two causes: mean, in percentage points */
  double gain_error_median, gain_error_p95; /* of gains whose cure's saving is known: |gain - saving|, points */
  cause_figures of[FIGURES_CAUSES];
} figures_values;

typedef struct cause_counts {
  uint32_t runs, named, right; /* counted runs of the cause, verdicts of it, both */
} cause_counts;

typedef struct calibration_bin {
  uint32_t runs, right;
  double repeatable; /* sum */
} calibration_bin;

typedef struct figures {
  uint32_t causes;
  uint32_t matrix[FIGURES_CAUSES][FIGURES_CAUSES]; /* truth, verdict; of counted runs */
  cause_counts counts[FIGURES_CAUSES];
  calibration_bin bins[FIGURES_BINS];
  uint32_t counted, left_out, baselines, off_path, off_path_named, mixed; /* runs */
  uint32_t gains, unknown_gains; /* whose cure's saving is known; and those whose cure's is not, well enough */
  uint32_t tried, own_tried;     /* fixes; tried: with a fix_error, own_tried: of them scenarios' own cures */
  uint32_t fixes_without_step, fixes_slower;
  /* 95 %: Wilson's score interval for rates of right verdicts and of alarms, else by resampling the runs */
  figures_values value, low, high;
} figures;

/* `causes` of `cells` are below it and below FIGURES_CAUSES. False on no memory. */
bool figures_make(const judged *cells, uint32_t count, uint32_t causes, figures *out);

/* Wilson's score interval of a rate, 95 %: E. B. Wilson, Probable inference, the law of succession, and statistical
 * inference, J. Am. Stat. Assoc. 22 (1927), 209-212. It has a width where all or none of the runs are `part`, and so is
 * 0 to 8 % for 0 of 44. NaN: `whole` is 0. */
void figures_rate(uint32_t part, uint32_t whole, double *low, double *high);

/* Smallest effect from which runs are named in at least `wanted` of the cases: runs sorted by effect, hits (0 or 1)
 * made monotone by pooling adjacent violators, the first effect whose pooled rate reaches `wanted`. NaN: none does.
 * `effects` are sorted; `hits` is used up, and `begins` is room for `count`. */
double figures_limit(const double *effects, double *hits, uint32_t *begins, uint32_t count, double wanted);

#endif
