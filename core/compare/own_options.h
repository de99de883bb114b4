/* The options that a command has beside those of a run: takes them out of the command line. [loop thread] */
#ifndef CORE_COMPARE_OWN_OPTIONS_H
#define CORE_COMPARE_OWN_OPTIONS_H

#include "host/error.h"

typedef enum own_value { OWN_NONE, OWN_OPTIONAL, OWN_REQUIRED } own_value;

typedef struct own_option {
  const char *name; /* "--margin" */
  own_value value;
  const char *allowed; /* for the message of a wrong one */
  /* `value` is NULL where none was given. False: it is none that is allowed. */
  bool (*take)(void *user, const char *value);
} own_option;

/* "--name value" and "--name=value". What is not in the table goes to `rest` (room for argc) in its order, argv[0]
 * first. Returns how many those are; all mistakes are added to `err` (CODE_USAGE). */
int own_options_take(const own_option *table, uint32_t count, void *user, int argc, char **argv, char **rest,
                     error *err);

/* Values that several commands take. */
bool own_share(const char *text, double *share);     /* "1" or "1%", 0 .. 100 per cent */
bool own_seconds(const char *text, double *seconds); /* "10" or "10s", above 0 up to a day */
bool own_color(const char *text);                    /* NULL, auto, always, never: for the whole process */

#endif
