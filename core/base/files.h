/* Output files of the sinks: temporary name, then rename. Behind PD_EXT_FILES. */
#ifndef CORE_BASE_FILES_H
#define CORE_BASE_FILES_H

#include <pdhost/sink.h>

#include <stdbool.h>
#include <stdio.h>

typedef struct files files;

/* Makes one file service per run. NULL on no memory. */
files *files_open(void);
/* Files still open are left under their temporary name. */
void files_close(files *self);

/* A table for one plugin: failures go through `host->fail`. A file that is open already, or that another plugin of the
 * service has written, is refused. Valid until files_close. NULL on no memory. */
const pd_files *files_table(files *self, const pd_host *host);

/* From now on the name of each file that a table opens begins with `prefix`, of at most 31 bytes: ranks of one run do
 * not write one file. Not standard output, and nothing below /dev. */
void files_set_prefix(files *self, const char *prefix);

/* Counts in `printed` what goes to standard output. The bytes counted at this call were printed by a process that died
 * and whose work begins again here: that many bytes are not printed again. Before the first table. */
void files_count_printed(files *self, _Atomic uint64_t *printed);

/* As pd_files.announce, of a path that is whole. [any thread] */
void files_announce(files *self, const char *path);
/* Paths announced so far, in order. */
uint32_t files_announced_count(const files *self);
const char *files_announced(const files *self, uint32_t index);
/* The next line of what was announced and not yet reported: a path, or "12 files in FOLDER/" for more than FILES_NAMED
 * of a folder. NULL: no more. Valid until the next call. [loop thread] */
const char *files_next_written(files *self);
#define FILES_NAMED 3

/* Forces all files that were committed or announced to the disk, and their names: a power cut from now on takes none of
 * them. Several threads do that, since the system does much of it at once. A warning names a file where it fails. [loop
 * thread] */
void files_force(const files *self);
/* The same of the files of two lists. */
void files_force_paths(char *const *paths, uint32_t count, char *const *more, uint32_t more_count);
/* Begins to bring what the file holds to the disk, so that files_force waits less. [any thread] */
void files_force_soon(int descriptor);

/* Makes `path` and its parents as folders. On failure returns PD_IO and writes the cause to `message`. */
pd_status files_make_folder(const char *path, char *message, size_t message_bytes);

/* `path` in the folder that it leads to, malloc'ed; NULL on no memory. */
char *files_path_on_disk(const char *path);

/* Opens a file of its own for each caller, beside `path` and named after it, which ends with ".partial": where two
 * runs write one file, each replaces it whole. Returns the descriptor; -1 with errno. The name is the caller's. [any
 * thread] */
int files_open_temporary(const char *path, char **temporary);

/* Removes what process `pid` left unfinished of the files that were announced or discarded here. */
void files_remove_unfinished(const files *self, uint32_t pid);

/* Removes the unfinished files beside `path` whose names are its own followed by `beginning`. */
void files_remove_beginning_with(const char *path, const char *beginning);

/* The same as a stream; NULL with errno. */
FILE *files_open_stream(const char *path, char **temporary);
/* Forces it to the disk, closes it, and renames it to `path` where it is `whole` and was written without a failure,
 * else removes it: false with errno, which is ENOMEM for one that is not `whole`. Frees `temporary`. */
bool files_end_stream(FILE *out, bool whole, const char *path, char *temporary);

#endif
