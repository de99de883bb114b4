/* Makes the report from the captures in a process of its own: a signal or a crashing sink that ends that process
 * leaves the captures. [main thread; there is no other] */
#ifndef CORE_RECORD_RECORD_REPORT_H
#define CORE_RECORD_RECORD_REPORT_H

#include "run/import/import.h"

#include <sys/types.h>

typedef struct record_report {
  const config *settings;
  pid_t pid;    /* 0: nothing runs */
  int answer;   /* the pipe through which the process says its code; -1: none */
  int code;     /* of import_execute; -1: it did not come to its end */
  char why[96]; /* why it did not, "" where it did: "the report crashed (signal 11, Segmentation fault)" */
} record_report;

/* Zeroed before. In this process, where no other can be made. The process keeps the signals blocked that are blocked
 * here: whether it is to end is decided here. */
void record_report_begin(record_report *self, config *settings, const import_request *request);
/* True: it is over, or none was begun. Does not wait. */
bool record_report_over(record_report *self);
/* Ends it, and removes the files that it has not completed; one that was not begun will not be. `number`: the signal
 * that asked for it. Not for one that is over. */
void record_report_give_up(record_report *self, int number);

#endif
