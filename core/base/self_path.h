/* Where the program itself lies. [any thread] */
#ifndef CORE_BASE_SELF_PATH_H
#define CORE_BASE_SELF_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The program's own file. False where the system does not tell. */
bool self_path(char *path, size_t room);
/* The folder above the program's own: of /usr/bin/pdhost that is /usr. */
bool self_path_prefix(char *path, size_t room);

/* Without /proc it is found by the path that it was started with, which holds from the current folder of then: to be
 * called before that changes. [main thread; no other thread exists yet] */
void self_path_begin(void);
/* The program's file by the path that it was started with. False where that path leads to no file. */
bool self_path_as_started(char *path, size_t room);

#endif
