/* A plugin file, loaded for tests as the host loads it. */
#ifndef TESTS_SUPPORT_PLUGIN_FILE_H
#define TESTS_SUPPORT_PLUGIN_FILE_H

#include <pdhost/plugin.h>

/* The plugin of the file, which is never closed, as in the host. Fails the test where it cannot be loaded. */
const pd_plugin *plugin_file_open(const char *path);
/* The options of a plugin with their defaults; the caller frees them. */
void *plugin_file_options(const pd_plugin *plugin);
/* Sets the option `key`. Fails the test where there is none or `text` is refused. */
void plugin_file_set(const pd_plugin *plugin, void *options, const char *key, const char *text);

#endif
