/* `pdhost analyze`: what held up a program that another profiler recorded. */
#ifndef CORE_CLI_ANALYZE_H
#define CORE_CLI_ANALYZE_H

#include "config/args.h"
#include "config/config.h"

extern const args_command analyze_command;

typedef struct analyze_request {
  const char *const *paths; /* files, folders, or one capture */
  uint32_t path_count;
  const config_input *input;
  const char *sinks;         /* of a capture, where `input` names none */
  const char *reader, *step; /* as import_request has them */
  bool no_python;            /* as config_input has it */
  bool ranks_json, quiet;
} analyze_request;

/* Reads the files, or the capture, and hands their windows to the sinks. Returns the exit code. [main thread] */
int analyze_run(const analyze_request *asked, error *err);

#endif
