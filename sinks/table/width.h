/*
 * How many terminal columns a UTF-8 text takes: East Asian wide and fullwidth characters two, combining marks
 * none. Control characters take one: layout.c shows a blank in their place. A table of our own, since wcwidth() knows
 * only what the process's locale does.
 */
#ifndef SINKS_TABLE_WIDTH_H
#define SINKS_TABLE_WIDTH_H

#include <stddef.h>

size_t width_of(const char *text, size_t bytes);
/* The length in bytes of the longest beginning of `text` that takes at most `columns`; never splits a character. */
size_t width_fit(const char *text, size_t bytes, size_t columns);

#endif
