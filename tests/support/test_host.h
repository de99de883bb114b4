/* A pd_host for tests: keeps the last failure's message, serves the extensions a test registers. */
#ifndef TESTS_SUPPORT_TEST_HOST_H
#define TESTS_SUPPORT_TEST_HOST_H

#include <pdhost/plugin.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct test_host {
  pd_host host;
  char message[1024]; /* of the last fail() */
  char warning[1024]; /* of the last log() at that level */
  uint32_t warnings;
  struct {
    const char *id;
    const void *table;
  } extensions[16];
  int extension_count;
} test_host;

static inline const void *test_host_extension(const pd_host *host, const char *id) {
  const test_host *self = host->impl;
  for (int i = 0; i < self->extension_count; i++)
    if (!strcmp(self->extensions[i].id, id)) return self->extensions[i].table;
  return NULL;
}
PD_PRINTF(3, 4) static inline pd_status test_host_fail(const pd_host *host, pd_status code, const char *format, ...) {
  test_host *self = host->impl;
  va_list args;
  va_start(args, format);
  vsnprintf(self->message, sizeof self->message, format, args);
  va_end(args);
  return code;
}
PD_PRINTF(3, 4) static inline void test_host_log(const pd_host *host, pd_log_level level, const char *format, ...) {
  test_host *self = host->impl;
  if (level != PD_LOG_WARN) return;
  va_list args;
  va_start(args, format);
  vsnprintf(self->warning, sizeof self->warning, format, args);
  va_end(args);
  self->warnings++;
}
static inline void test_host_init(test_host *self) {
  memset(self, 0, sizeof *self);
  self->host = (pd_host){.size = sizeof(pd_host),
                         .abi_major = PD_ABI_MAJOR,
                         .abi_minor = PD_ABI_MINOR,
                         .impl = self,
                         .extension = test_host_extension,
                         .fail = test_host_fail,
                         .log = test_host_log};
}
static inline void test_host_add(test_host *self, const char *id, const void *table) {
  self->extensions[self->extension_count].id = id;
  self->extensions[self->extension_count++].table = table;
}

#endif
