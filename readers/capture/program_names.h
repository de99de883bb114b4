/* The texts of a capture of a program by their numbers, which may be any: a snapshot has only those that its rows use.
 * [any thread] */
#ifndef READERS_CAPTURE_PROGRAM_NAMES_H
#define READERS_CAPTURE_PROGRAM_NAMES_H

#include <stdbool.h>
#include <stdint.h>

typedef struct program_name {
  uint32_t id;     /* the file's */
  uint32_t name;   /* the intake's string id */
  uint32_t module; /* the same of the module whose mark it is; 0: it is none */
  uint32_t bound;  /* as program_captures_name() */
} program_name;

/* Begins with all zero. */
typedef struct program_names {
  program_name *rows;
  uint32_t count, room;
} program_names;

/* False: no memory. */
bool program_names_add(program_names *self, program_name name);
/* Behind the last one that is added, before the first one that is looked up. */
void program_names_sort(program_names *self);
/* All zero where the file lacks it: what has this name is then without one. */
program_name program_names_at(const program_names *self, uint32_t id);
void program_names_free(program_names *self);

#endif
