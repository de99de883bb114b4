/* What a bare word on the command line names: a configuration that is shipped or lies in ./conf, or else a scenario.
 * [main thread] */
#ifndef CORE_CONFIG_RUN_NAME_H
#define CORE_CONFIG_RUN_NAME_H

#include "args.h"
#include "config_sections.h"

/* One of the two is set. Both are the text pool's, or the word itself. */
typedef struct run_name {
  const char *path;     /* of a configuration */
  const char *scenario; /* name or path of a plugin */
} run_name;

/* `plugin_path` as in plugins_open. An unknown word is CODE_USAGE, with the nearest name. */
pd_status run_name_find(const char *word, const char *plugin_path, text_pool *memory, run_name *out, error *err);

/* The file that `-c NAME` means: ./conf/NAME.ini, NAME.ini of the installation, of the source tree that the program was
 * built in. NULL: there is none, or NAME is a path or a file here. */
const char *run_name_file(const char *name, text_pool *memory);

/* A name of a file that is near to `path`, which does not exist: "; did you mean conf/sync.ini?", or "". */
const char *run_name_near_file(const char *path, char *text, size_t room);

/* Adds "unexpected argument", with the nearest command, configuration or scenario. */
void run_name_unexpected(const char *word, const char *plugin_path, error *err);

/* Names of the configurations in reach, each once, in order. The pool's; NULL on no memory. */
const char *const *run_name_configs(text_pool *memory, uint32_t *count);

/* The commands that words are compared with; main() sets them. */
void run_name_set_commands(const args_command *const *all, uint32_t count);
bool run_name_is_command(const char *word);

#endif
