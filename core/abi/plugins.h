/* Plugin loading: by name from KIND/NAME.so in the search folders, or by path. Opens nothing but what is asked for. A
 * plugin that was accepted is never closed: its threads, atexit handlers and the sanitizers' stacks need its code. */
#ifndef CORE_ABI_PLUGINS_H
#define CORE_ABI_PLUGINS_H

#include "base/error.h"

#include <pdhost/communicator.h>
#include <pdhost/device.h>
#include <pdhost/reader.h>
#include <pdhost/scenario.h>
#include <pdhost/sink.h>

typedef struct plugins plugins;

/* One accepted plugin; the plugins' until plugins_close (the library itself stays loaded). */
typedef struct plugin {
  const pd_plugin *table;
  const char *path;
  pd_kind kind;
  uint32_t option_count;
} plugin;

/* `first` are folders searched before all others, separated by ':' (--plugin-path, [run] plugin_path); may be NULL.
 * Then come those of PDHOST_PLUGIN_PATH and ../lib/pdhost beside the executable. NULL on no memory. */
plugins *plugins_open(const char *first);
void plugins_close(plugins *self);
/* Warns of each folder that the user gave and that does not exist; the others may be missing. `origin`: where they are
 * given. */
void plugins_warn_of_missing(const char *folders, const char *origin);

/* From now on each file is loaded in a child process first: one that crashes, ends the process or hangs there is a
 * failure that names it, and not the end of this process. It costs a fork and a second load. Without this call only
 * files that did not come with the program are loaded so. */
void plugins_try_first(plugins *self);

/* Loads by name, or by path when `name` holds a slash; a second call for the same gives the same plugin. Failures name
 * file and cause and have CODE_PLUGIN. [loop thread] */
pd_status plugins_load(plugins *self, pd_kind kind, const char *name, const plugin **out, error *err);
/* Any kind, by path alone. */
pd_status plugins_load_file(plugins *self, const char *path, const plugin **out, error *err);

/* The folders, in order. */
uint32_t plugins_folder_count(const plugins *self);
const char *plugins_folder(const plugins *self, uint32_t index);

/* Files that lie in the folders of one kind, by folder, then by name. */
typedef struct plugin_file {
  char *name, *path;
  pd_kind kind;
  const char *shadowed_by; /* path of the file that wins, or NULL */
} plugin_file;
pd_status plugins_scan(const plugins *self, pd_kind kind, plugin_file **files, uint32_t *count);
void plugins_scan_free(plugin_file *files, uint32_t count);

/* Row `index` of the plugin's options, whatever size its rows have. */
pd_option plugin_option(const pd_plugin *table, uint32_t index);

const char *plugin_kind_name(pd_kind kind); /* "scenario" */

/* What is wrong with a descriptor, for `path`; the loader's own check. `kind` 0: any. */
pd_status plugin_check_table(const pd_plugin *table, pd_kind kind, const char *path, error *err);

#endif
