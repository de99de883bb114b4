/* What a saved run is remembered by: a text that changes with all that decides what the run does. [loop thread] */
#ifndef CORE_RUN_SAVED_KEY_H
#define CORE_RUN_SAVED_KEY_H

#include "saved_run.h"

/* A line for each word of the command; then, after "#", pdhost's version, what the files of -c hold now, and the
 * SHA-256 of the program and of each plugin that the run loads (with device "auto", of each device's). To be freed.
 * NULL on no memory. A command that cannot be read has no lines for files: its run fails, and is not remembered. */
char *saved_key_text(const saved_run *self, size_t *bytes);

#endif
