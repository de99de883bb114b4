/* A host for programs without a framework: a failure's message goes to standard error, what is logged nowhere. */
#ifndef TESTS_SUPPORT_STDERR_HOST_H
#define TESTS_SUPPORT_STDERR_HOST_H

#include <pdhost/plugin.h>

#include <stdarg.h>
#include <stdio.h>

PD_PRINTF(3, 4)
static inline pd_status stderr_host_fail(const pd_host *host, pd_status code, const char *format, ...) {
  va_list args;
  (void)host;
  va_start(args, format);
  vfprintf(stderr, format, args);
  va_end(args);
  fputc('\n', stderr);
  return code;
}
PD_PRINTF(3, 4)
static inline void stderr_host_log(const pd_host *host, pd_log_level level, const char *format, ...) {
  (void)host, (void)level, (void)format;
}

#define STDERR_HOST .size = sizeof(pd_host), .fail = stderr_host_fail, .log = stderr_host_log

#endif
