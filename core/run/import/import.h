/* Windows that other profilers recorded: read, given steps, analysed and handed to every sink, as a run's own are. */
#ifndef CORE_RUN_IMPORT_IMPORT_H
#define CORE_RUN_IMPORT_IMPORT_H

#include "config/config.h"

typedef struct import_request {
  const char *const *files;
  const bool *in_folder; /* of each: what cannot be read is skipped, since the user named its folder; NULL: of none */
  uint32_t file_count;
  const char *reader; /* by name, or by the path that config_input.reader had; NULL: the one that says most surely that
                         a file is its own */
  const char *step;   /* name of the range that is one step; NULL: marks of steps, or else found */
  uint64_t first_steps; /* how many steps are taken of each window; 0: all */
  bool is_recording;    /* of pdhost record, whose command the settings have */
  bool ranks_json;      /* what several ranks did together is printed as JSON */
} import_request;

/* `settings` was loaded with config_input.is_analysis. Prints its errors. Returns the exit code. [loop thread] */
int import_execute(config *settings, const import_request *request);

#endif
