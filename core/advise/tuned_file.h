/* The configuration that `pdhost tune` ends with, as a file. [main thread] */
#ifndef CORE_ADVISE_TUNED_FILE_H
#define CORE_ADVISE_TUNED_FILE_H

#include "tune_path.h"

/* Whether `path` can be made: no file of that name is there, and its folder can be written. False: see `err`. */
bool tuned_file_check(const char *path, error *err);

/* Writes what the user set of the run of `args`, with what `of` keeps on top. Never over a file. False: see `err`. */
bool tuned_file_write(const char *path, const cli_args *args, const tune_path *of, error *err);

#endif
