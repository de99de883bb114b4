/* What the tests of the configuration share. */
#ifndef TESTS_CONFIG_CONFIG_RIG_H
#define TESTS_CONFIG_CONFIG_RIG_H

#include "host_rig.h"

#include <sys/stat.h>

#define BASE "[run]\nscenario = probe\ndevice = null\nsinks = probe\n[scenario]\ntoken = t\n"
/* Lines of BASE. */
#define AT(line) "a.ini:" #line

static inline void with_file(const char *text) {
  rig_folder();
  rig_write("a.ini", text);
}

typedef struct probe_options {
  bool flag;
  int64_t count, period, room, wait;
  double ratio, stall;
  const char *label, *level, *file, *token;
} probe_options;

#endif
