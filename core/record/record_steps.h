/* The steps that a program marks, counted while it is recorded: pdhost/mark.h's marks, or the ranges of a name. Which
 * step lies where is found when the capture is read. [loop thread] */
#ifndef CORE_RECORD_RECORD_STEPS_H
#define CORE_RECORD_RECORD_STEPS_H

#include "capture/format.h"

#include <stdbool.h>

/* What a text is. A program may have any number of texts, and write one again under another number. */
typedef struct record_step_role {
  uint32_t id;
  uint8_t roles;
  uint64_t used; /* the last time, as `uses` counts them; 0: no row has used it yet */
} record_step_role;

typedef struct record_steps {
  const char *name; /* of the ranges that are steps; NULL: marks of pdhost/mark.h. Set by the owner, all else zero */
  record_step_role *roles; /* of the texts that have one, by their numbers */
  uint32_t role_room, role_count;
  uint64_t uses; /* of all of them so far */
  uint64_t marks, ranges;
  uint64_t paused_at; /* how many marks there were when the recording was last paused */
  uint64_t cut;       /* steps that a pause fell into */
} record_steps;

/* Rows of CAPTURE_STRINGS. Without memory some steps are not counted. */
void record_steps_strings(record_steps *self, const char *data, uint32_t bytes);
/* Rows of CAPTURE_ANNOTATIONS, or of CAPTURE_SPANS. */
void record_steps_annotations(record_steps *self, const void *data, uint32_t bytes);
/* Whether a row, whose strings were given, ends a step. */
bool record_steps_is_bound(record_steps *self, const capture_annotation *row);
/* The recording was paused: the step that the pause fell into does not count. */
void record_steps_pause(record_steps *self);
/* Complete ones so far. */
uint64_t record_steps_count(const record_steps *self);
void record_steps_free(record_steps *self);

#endif
