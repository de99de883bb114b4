/* Events of TensorBoard, encoded and added to a record file. Each returns what record_file_add says. [loop thread] */
#ifndef SINKS_TENSORBOARD_EVENTS_H
#define SINKS_TENSORBOARD_EVENTS_H

#include "record_file.h"

/* Where and when: every event has both. */
typedef struct event_place {
  record_file *file;
  int64_t realtime_ns;
  int64_t step;
} event_place;

double events_seconds(int64_t realtime_ns);

/* The first event of a file. */
pd_status events_version(const event_place *place);
/* NaN and infinities are left out: the charts cannot show them. */
pd_status events_scalar(const event_place *place, const char *tag, double number);
/* Markdown. */
pd_status events_text(const event_place *place, const char *tag, const char *markdown);
/* `rows` of (left, right, count). */
pd_status events_histogram(const event_place *place, const char *tag, const char *description, const double *rows,
                           uint32_t row_count);
/* Data that one plugin reads: in its metadata when `as_tensor` is false, else as a string tensor. */
pd_status events_plugin(const event_place *place, const char *tag, const char *plugin, const void *data, size_t bytes,
                        bool as_tensor);

#endif
