/* The configuration of one run: every key of the core and of the loaded plugins, checked, with its origin. Later
 * layers win: defaults of the rows, presets of the scenario, of the device, and of the scenario for that device, files
 * in order, -o, named flags. [loop thread] */
#ifndef CORE_CONFIG_CONFIG_H
#define CORE_CONFIG_CONFIG_H

#include "core_options.h"
#include "schedule.h"
#include "abi/plugins.h"
#include "base/error.h"

#include <pdhost/sink.h>

/* One assignment that the user made, before it is checked. Strings are borrowed until config_load returns. */
typedef struct config_assignment {
  const char *section, *key, *value;
  const char *origin; /* "command line" */
} config_assignment;

typedef struct config_input {
  const char *const *files; /* -c, in order */
  uint32_t file_count;
  const config_assignment *assignments; /* -o, then named flags, in order */
  uint32_t assignment_count;
  const char *command_line; /* as typed, or NULL */
  const char *color;        /* --color, for the sinks' keys of that name; NULL: not given */
  bool is_analysis;         /* of a trace that exists: no scenario and no device, but every reader */
  const char *reader;       /* with is_analysis: a name, or the path of one more reader, which comes first; or NULL */
  bool no_python;           /* with is_analysis: reader.kineto.python=none, whatever the assignments say */
  bool tries_plugins;       /* plugins_try_first: for commands that only look at the configuration */
} config_input;

/* A plugin of the run with its filled options (NULL when it has none); both the config's until config_free. */
typedef struct config_plugin {
  const plugin *plugin;
  const void *options;
} config_plugin;

typedef struct config config;
struct config {
  run_settings run;
  schedule_settings schedule;
  schedule plan; /* the same, with `range` resolved: what the loop needs */
  data_config data;
  train_config train; /* complete: seed, batch_size, image_size, with_* copied from their sections */
  profile_settings profile;
  benchmark_settings benchmark;
  truth_settings truth;

  config_plugin scenario;
  config_plugin device; /* plugin is NULL while run.device is "auto": see config_load_device */
  bool device_auto;
  config_plugin *sinks;
  uint32_t sink_count;
  config_plugin *readers; /* with is_analysis: all that load */
  uint32_t reader_count;

  const pd_setting *settings; /* effective, every key, in the order of sections and rows */
  uint64_t setting_count;
  const char *command_line;
  bool quiet;

  plugins *plugins;
  struct config_impl *impl;
};

/* All mistakes are collected in `err` (CODE_CONFIG); a plugin that does not load is reported alone (CODE_PLUGIN). On
 * failure *out is NULL. */
pd_status config_load(const config_input *input, config **out, error *err);
void config_free(config *self);

/* The row of a key, or of the one it is another name of, in this configuration's sections. False: there is no such key,
 * or device "auto" has not been decided. */
bool config_row(config *self, const char *section, const char *key, pd_option *out);

/* With device "auto": loads device `name` and fills its options from [device]. Keys that only the other device knows
 * are left out. May be called again with another name; the last one is in self->device and in the settings. */
pd_status config_load_device(config *self, const char *name, error *err);

/* The effective configuration as INI text on stdout, a comment per key saying where it came from. */
pd_status config_print(const config *self);

#endif
