/* The files that `pdhost init` writes for a new plugin. They are sources of this tree (core/cli/templates), built and
 * checked with the rest, and put into the program by the build. [any thread] */
#ifndef CORE_CLI_TEMPLATES_H
#define CORE_CLI_TEMPLATES_H

typedef struct template_file {
  const char *name; /* "scenario.c" */
  const char *text; /* ends with a NUL */
} template_file;

/* Ended by a NULL name. */
extern const template_file template_files[];

#endif
