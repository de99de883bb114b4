/* Texts that name what runs: in "<scenario.batch> x <scenario.dim>" each key is replaced by its value. */
#ifndef CORE_CONFIG_PLACEHOLDERS_H
#define CORE_CONFIG_PLACEHOLDERS_H

#include "config_sections.h"

/* The value of [section] key, kept in `memory`; NULL: there is no such key. */
typedef const char *(*placeholders_value)(void *user, const char *section, const char *key);

/* Replaces *text by one with every <section.key> filled in; without any, it stays. What is between < and > without a
 * dot stays as it is. A key that does not exist is added to `err`, which begins with `where` ("ORIGIN: [section] key =
 * text").
 */
pd_status placeholders_fill(text_pool *memory, const char **text, placeholders_value value, void *user,
                            const char *where, error *err);

#endif
