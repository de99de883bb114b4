/* The windows of a run's capture, one after the other, as the run itself had them. */
#ifndef CORE_CHECK_CHECK_CAPTURE_H
#define CORE_CHECK_CHECK_CAPTURE_H

#include <pdhost/trace.h>

typedef struct check_capture_listener {
  void *user;
  pd_status (*window)(void *user, const pd_trace *trace); /* PD_OK, or what ends the reading */
  void (*damage)(void *user, const char *text);           /* what of the file cannot be read */
} check_capture_listener;

/* Prints why nothing can be read. Returns an exit code. */
int check_capture_read(const char *path, const check_capture_listener *listener);

#endif
