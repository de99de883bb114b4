/* How progress reads: the line of a terminal and the JSON object. [any thread] */
#ifndef CORE_BASE_PROGRESS_TEXT_H
#define CORE_BASE_PROGRESS_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PROGRESS_NAME_BYTES = 64, PROGRESS_TEXT_BYTES = 192, PROGRESS_LINE_BYTES = 1024 };

/* The unit of what is read from a file. */
#define PROGRESS_BYTE "byte"

typedef enum progress_event { PROGRESS_BEGINS, PROGRESS_RUNS, PROGRESS_ENDS } progress_event;

/* A phase at one moment. */
typedef struct progress_view {
  char task[PROGRESS_NAME_BYTES], phase[PROGRESS_NAME_BYTES], unit[PROGRESS_NAME_BYTES]; /* unit "": it has no steps */
  char doing[PROGRESS_TEXT_BYTES], note[PROGRESS_TEXT_BYTES];                            /* "": nothing */
  progress_event event;
  uint64_t step, of;   /* done; of: 0: not known */
  double seconds;      /* since it began */
  double rate;         /* steps a second; 0: not known */
  double seconds_left; /* below 0: not known */
  bool at_most;        /* seconds_left is a bound */
} progress_view;

/* "dataloader: recording: step 12 of 600, 29.8/s, 20 s left". Returns `text`. */
const char *progress_line(const progress_view *self, char text[PROGRESS_LINE_BYTES]);
/* How many of its bytes fit into `columns`; a character is never cut. */
size_t progress_fitting(const char *text, int columns);
/* To standard error, and how wide its terminal is. */
void progress_write(const char *text, size_t bytes);
int progress_columns(void);
/* One object without a newline, to be freed; NULL on no memory. */
char *progress_object(const progress_view *self);

#endif
