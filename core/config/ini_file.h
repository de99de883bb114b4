/* Reads one INI file through inih with exact line numbers. inih alone cuts long lines, and takes an indented line for
 * a continuation of the key before; here both are refused. */
#ifndef CORE_CONFIG_INI_FILE_H
#define CORE_CONFIG_INI_FILE_H

#include "base/error.h"

/* One `key = value`, or a [section] heading: then key and value are NULL. False ends the reading (no memory). Strings
 * are borrowed until it returns. */
typedef bool (*ini_row)(void *user, const char *section, const char *key, const char *value, int line);

/* All mistakes of the file are added to `err` (CODE_CONFIG), "PATH:LINE: ..."; good rows are delivered all the same. */
pd_status ini_file_read(const char *path, ini_row row, void *user, error *err);
/* The same for text in memory. */
pd_status ini_text_read(const char *path, const char *text, size_t bytes, ini_row row, void *user, error *err);

#endif
