/* The options of a run, and the lists that they fill. See cli_args.h. [main thread] */
#ifndef CORE_CONFIG_CLI_ROWS_H
#define CORE_CONFIG_CLI_ROWS_H

#include "cli_args.h"

/* The lists under construction. */
typedef struct cli_builder {
  cli_args *args;
  const char **files;
  config_assignment *options, *named; /* -o; named options, which win */
  uint32_t option_count, named_count;
  const char *sinks; /* of --sink, joined */
  const char *log;   /* NULL: not given */
  bool failed;       /* no memory */
  uint32_t argc;
} cli_builder;

static inline config_assignment cli_rows_assign(const char *section, const char *key, const char *value) {
  return (config_assignment){.section = section, .key = key, .value = value, .origin = "command line"};
}

#endif
