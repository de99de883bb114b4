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

/* A text that lives as long as the arguments; "" on no memory, which is noted. */
const char *cli_rows_keep(cli_builder *b, const char *text, size_t bytes);
const char *cli_rows_join(cli_builder *b, const char *first, const char *middle, const char *last);
static inline config_assignment cli_rows_assign(const char *section, const char *key, const char *value) {
  return (config_assignment){.section = section, .key = key, .value = value, .origin = "command line"};
}

#endif
