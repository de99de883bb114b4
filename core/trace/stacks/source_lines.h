/* Source lines of code addresses, from debug information, where libdw (elfutils) is installed. [loop thread] */
#ifndef CORE_TRACE_STACKS_SOURCE_LINES_H
#define CORE_TRACE_STACKS_SOURCE_LINES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct source_lines source_lines;

/* For all that is loaded now; NULL where there is no libdw: then no address has a line. */
source_lines *source_lines_open(void);
void source_lines_close(source_lines *self);

/* Writes "conv.c:30" for the address of an instruction: the line of the function that has a frame of its own, wherever
 * what was inlined into it is. False where no debug information knows it. `self` may be NULL. */
bool source_lines_find(source_lines *self, const void *code, char *text, size_t size);

#endif
