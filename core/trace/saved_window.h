/*
 * A window's input in a capture file, and back: what merge_window makes of the one is what it makes of the other.
 */
#ifndef CORE_TRACE_SAVED_WINDOW_H
#define CORE_TRACE_SAVED_WINDOW_H

#include "raw_window.h"

#include "capture/capture_read.h"
#include "capture/capture_write.h"

/* Writes what is to be merged, strings first. A file that takes no more is the writer's `fault`, and no failure here:
 * PD_NO_MEMORY alone is one. [loop thread] */
pd_status saved_window_save(capture_writer *writer, const window_input *input);

/* The strings of a capture so far, by the ids that the file uses. */
typedef struct saved_strings {
  string_table *strings;
  uint32_t *ids; /* of the file's id i; 0: it was lost */
  uint32_t count, room;
} saved_strings;
pd_status saved_strings_open(saved_strings *self);
void saved_strings_close(saved_strings *self);
/* Adds the texts of a record of CAPTURE_STRINGS, which ends at byte `end` of the file. Ids rise by 1, so that bounds
 * them. */
pd_status saved_strings_add(saved_strings *self, const void *payload, uint32_t bytes, uint64_t end);
/* Our id of a string of the file; 0: it has none of that id. */
uint32_t saved_strings_id(const saved_strings *self, uint32_t id);

/* Rows that the file once had and has no more, by kind; of them those of one thread. */
typedef struct saved_missing {
  uint32_t thread, kind;
  uint64_t count;
} saved_missing;

typedef struct saved_window {
  window_input input;
  recorder_window end; /* its device is the caller's to fill in */
  trace_clock clock;
  loss_marks marks;
  recorder_step *steps;
  double *losses;
  uint64_t *earlier;
  capture_thread *call_threads;
  frame_name *frames;
  char *note;
  saved_missing *missing;
  uint64_t missing_count, missing_room;
} saved_window;

/* Reads window `window`, whose CAPTURE_WINDOW record is number `first` of the file; the strings written up to its
 * last row are added. What is torn or impossible is left out and counted in `missing`. */
pd_status saved_window_load(saved_window *self, const capture_reader *reader, uint64_t first, saved_strings *strings);
/* Merges it; the caller frees the trace, which borrows `self->end`'s device and note. */
pd_status saved_window_merge(saved_window *self, pd_trace **out);
void saved_window_free(saved_window *self);

#endif
