/* The failure of a stream, which stays. See cpu_device.h. */
#include "cpu_device.h"

#include <stdarg.h>
#include <stdio.h>

pd_status cpu_stream_fail(pd_stream *stream, pd_status status, const char *format, ...) {
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&stream->lock);
  if (stream->failed == PD_OK) {
    stream->failed = status;
    vsnprintf(stream->message, sizeof stream->message, format, args);
  }
  pthread_mutex_unlock(&stream->lock);
  va_end(args);
  return status;
}
