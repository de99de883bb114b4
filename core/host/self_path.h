/* Where the program itself lies. [any thread] */
#ifndef CORE_HOST_SELF_PATH_H
#define CORE_HOST_SELF_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* The program's own file. False where the system does not tell. */
bool self_path(char *path, size_t room);
/* The folder above the program's own: of /usr/bin/pdhost that is /usr. */
bool self_path_prefix(char *path, size_t room);

#endif
