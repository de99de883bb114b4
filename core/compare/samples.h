/* What files of measurements say, merged as torch.utils.benchmark does: blocks of the same task in one file are one
 * sample. The same task in two files stays two samples. [loop thread] */
#ifndef CORE_COMPARE_SAMPLES_H
#define CORE_COMPARE_SAMPLES_H

#include "run_document.h"

#include "base/error.h"
#include "base/statistics.h"
#include "measure/measurement.h"

typedef struct sample {
  const pd_measurement *of;            /* the first measurement of it */
  uint32_t file;                       /* which of the files it is from */
  bool partial;                        /* a measurement of it was cut short */
  double *times;                       /* of one run, in seconds, in the order in which they were taken */
  uint64_t room;                       /* of `times` */
  statistics figures;                  /* of the times */
  int shown;                           /* significant figures that the median is printed with */
  const pd_instructions *instructions; /* of the first measurement that has any; NULL: nothing was counted */
} sample;

typedef struct samples {
  pd_measurements rows; /* of the files that were read */
  sample *all;
  uint32_t count, file_count;
  char **names;      /* of the files: the shortest that tell them apart */
  run_account *runs; /* of the files: what a run said of itself, empty for a file of measurements; NULL: no files */
  bool in_order;     /* samples_show_order was here */
} samples;

/* Files of measurements, and documents of runs: of those, the iterations of the active steps are one sample. Host
 * times, or device times where `device`. Every message is one line that names the file. On failure `out` is empty. */
bool samples_read(const char *const *paths, uint32_t count, bool device, samples *out, error *err);
/* The same of measurements that are in memory already, as from one file; they have to outlive the samples. */
bool samples_of(const pd_measurements *rows, const char *name, bool device, samples *out, error *err);
void samples_free(samples *self);
/* For readers who are people: control characters in the texts of the files that were read are made visible. False on no
 * memory. */
bool samples_make_visible(samples *self);
/* The same of one measurement, for samples_of. */
bool samples_row_make_visible(pd_measurement *row);
/* Shows more figures of medians that, printed with the figures that their own spread supports, would be out of order,
 * or as low as the least. False on no memory. */
bool samples_show_order(samples *self);

/* For qsort of pointers to samples. */
int samples_by_median(const void *a, const void *b);
/* Whether the printed numbers keep the order of `low` and `high`, whose median is not smaller; `apart`: they have to
 * differ, too, unless no number of digits shows a difference. */
bool samples_tell_order(const sample *low, const sample *high, double low_number, double high_number, bool apart);

/* Texts that may be missing compare as "". */
bool samples_same_text(const char *a, const char *b);
/* What a sample's table and row are called. */
const char *sample_label(const sample *self);
const char *sample_row_name(const sample *self);
/* "vec_dot: [64, 512], bmm, 4 threads": its whole name, or without the description. */
const char *sample_title(const sample *self, bool description, char *text, size_t room);

#endif
