/* The folder that a check runs in: what a plugin left there, at any depth. */
#ifndef CORE_CONFORM_CHECK_FOLDER_H
#define CORE_CONFORM_CHECK_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Removes a folder with all that lies in it. */
void check_folder_remove(const char *path);

/* Replaces the folder by an empty one, which becomes the current one. `path` is whole, as a plugin may have left the
 * process in another folder. False: that failed. */
bool check_folder_empty(const char *path);

/* Bytes of all files in the folder. */
uint64_t check_folder_bytes(const char *path);

/* A file in the folder that ends with .partial: its path within it, as "inner/x.partial", goes to `found`. */
bool check_folder_partial(const char *path, char *found, size_t room);

#endif
