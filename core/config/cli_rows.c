/* The options of a run; see cli_rows.h. Each named option is another spelling of a key and is checked as one. */
#include "cli_rows.h"

#include <stdio.h>
#include <string.h>

#define USAGE(...) error_add(err, PD_INVALID, FAULT_ARGUMENT, __VA_ARGS__)

/* A text that lives as long as the arguments; "" on no memory, which is noted. */
static const char *keep(cli_builder *b, const char *text, size_t bytes) {
  char *copy = text_pool_alloc(&b->args->memory, bytes + 1);
  if (!copy) {
    b->failed = true;
    return "";
  }
  memcpy(copy, text, bytes);
  return copy;
}

static const char *join(cli_builder *b, const char *first, const char *middle, const char *last) {
  const char *text = text_pool_join(&b->args->memory, first, middle, last);
  if (!text) b->failed = true;
  return text ? text : "";
}

static bool take_key(void *user, const args_option *row, const char *value, error *err) {
  cli_builder *b = user;
  (void)err;
  b->named[b->named_count++] = cli_rows_assign(row->section, row->key, value ? value : "true");
  return true;
}

static bool take_file(void *user, const args_option *row, const char *value, error *err) {
  cli_builder *b = user;
  (void)row;
  (void)err;
  b->files[b->args->input.file_count++] = value;
  return true;
}

/* section.key=value; the last dot before the = parts section and key. */
static bool take_assignment(void *user, const args_option *row, const char *text, error *err) {
  cli_builder *b = user;
  (void)row;
  const char *equals = strchr(text, '='), *dot = NULL;
  for (const char *at = text; equals && at < equals; at++)
    if (*at == '.') dot = at;
  if (!dot || dot == text || dot + 1 == equals) {
    USAGE("-o %s: write section.key=value, as in -o data.num_workers=8", text);
    return true;
  }
  b->options[b->option_count++] =
      cli_rows_assign(keep(b, text, (size_t)(dot - text)), keep(b, dot + 1, (size_t)(equals - dot - 1)), equals + 1);
  return true;
}

/* name[:key=value,...]; a part without = belongs to the value before it, so that lists can be given. */
static bool take_sink(void *user, const args_option *row, const char *text, error *err) {
  cli_builder *b = user;
  (void)row;
  const char *slash = strrchr(text, '/');
  const char *colon = strchr(text, ':');
  /* A path may hold a colon before its last slash, a value may hold slashes: the file's name ends with .so. */
  const char *suffix = strstr(text, ".so:");
  if (suffix && slash) colon = suffix + 3;
  const char *name = keep(b, text, colon ? (size_t)(colon - text) : strlen(text));
  if (!name[0]) {
    USAGE("--sink %s: no name; write --sink NAME[:key=value,...]", text);
    return true;
  }
  b->sinks = b->sinks ? join(b, b->sinks, ",", name) : name;
  const char *section = join(b, "sink.", name, "");
  for (const char *at = colon ? colon + 1 : ""; *at;) {
    const char *equals = strchr(at, '='), *end = strchr(at, ',');
    while (end && !memchr(end + 1, '=', strcspn(end + 1, ","))) end = strchr(end + 1, ',');
    if (!equals || equals == at || (end && equals > end)) {
      USAGE("--sink %s: %s: write key=value", text, at);
      return true;
    }
    const size_t bytes = end ? (size_t)(end - equals - 1) : strlen(equals + 1);
    b->named[b->named_count++] =
        cli_rows_assign(section, keep(b, at, (size_t)(equals - at)), keep(b, equals + 1, bytes));
    at = end ? end + 1 : at + strlen(at);
  }
  return true;
}

static bool take_folder(void *user, const args_option *row, const char *value, error *err) {
  cli_builder *b = user;
  (void)row;
  (void)err;
  b->args->plugin_path = b->args->plugin_path ? join(b, b->args->plugin_path, ":", value) : value;
  return true;
}

static bool take_color(void *user, const args_option *row, const char *value, error *err) {
  ((cli_builder *)user)->args->input.color = value ? value : "always";
  return args_take_color(user, row, value, err);
}

static bool take_format(void *user, const args_option *row, const char *value, error *err) {
  cli_args *args = ((cli_builder *)user)->args;
  (void)err;
  args->json = row->code == 'j' || strcmp(value, "json") == 0;
  return args->json || strcmp(value, "text") == 0;
}

static bool take_quiet(void *user, const args_option *row, const char *value, error *err) {
  (void)row;
  (void)value;
  (void)err;
  ((cli_builder *)user)->args->quiet = true;
  log_set_level(PD_LOG_WARN);
  return true;
}

/* The key's value for "everything". */
static bool take_full(void *user, const args_option *row, const char *value, error *err) {
  (void)value;
  return take_key(user, row, "all", err);
}

/* The second one shows times. */
static bool take_verbose(void *user, const args_option *row, const char *value, error *err) {
  (void)user;
  (void)row;
  (void)value;
  (void)err;
  if (log_level() == PD_LOG_DEBUG) log_show_times();
  log_set_level(PD_LOG_DEBUG);
  return true;
}

static bool take_log(void *user, const args_option *row, const char *value, error *err) {
  (void)row;
  ((cli_builder *)user)->log = value;
  (void)err;
  return value[0] != '\0';
}

static bool take_command(void *user, const args_option *row, const char *value, error *err) {
  cli_args *args = ((cli_builder *)user)->args;
  const cli_command command = (cli_command)(row->code & 0xff);
  if (args->command == CLI_HELP) return true; /* --help wins over all other arguments */
  if (command != CLI_HELP && args->command != CLI_RUN && args->command != command) {
    USAGE("%s: there is another command already; give one at a time", row->name);
    return true;
  }
  args->command = command;
  args->kind = (pd_kind)(row->code >> 8);
  args->topic = command == CLI_HELP ? "" : value;
  return true;
}

/* ---- the rows ---- */

/* NOLINTBEGIN(bugprone-macro-parentheses): the arguments are initializers, and strings that are joined. */
#define KEY(name_, section_, key_)                                                                                     \
  {                                                                                                                    \
    .name = "--" name_, .value = ARGS_REQUIRED, .argument = "VALUE", .take = take_key, .section = section_,            \
    .key = key_                                                                                                        \
  }
#define TRUTH(name_, section_)                                                                                         \
  {                                                                                                                    \
    .name = "--" name_, .value = ARGS_OPTIONAL, .argument = "BOOL", .take = take_key, .section = section_,             \
    .key = name_                                                                                                       \
  }
#define COMMAND(name_, command_, ...)                                                                                  \
  { .name = "--" name_, .take = take_command, .code = (int)(command_), __VA_ARGS__ }
#define HELP(name_, kind_, offer_, help_)                                                                              \
  COMMAND(name_, CLI_HELP_PLUGIN | kind_ << 8, .value = ARGS_REQUIRED, .argument = "NAME[.KEY]", .offer = offer_,      \
          .help = help_)
/* NOLINTEND(bugprone-macro-parentheses) */

static const args_option rows[] = {
    {.name = "--config",
     .letter = 'c',
     .value = ARGS_REQUIRED,
     .argument = "FILE",
     .take = take_file,
     .offer = ARGS_OFFER_CONFIG,
     .group = "configuration",
     .help = "read an INI file, or the shipped one of that name; later ones win, key by key"},
    {.name = "--option",
     .letter = 'o',
     .value = ARGS_REQUIRED,
     .argument = "SECTION.KEY=VALUE",
     .take = take_assignment,
     .offer = ARGS_OFFER_KEY,
     .help = "set one key"},
    {.name = "--sink",
     .value = ARGS_REQUIRED,
     .argument = "NAME[:KEY=VALUE,...]",
     .take = take_sink,
     .offer = ARGS_OFFER_SINK,
     .help = "write results with this sink; the first --sink replaces the configured list"},
    {.name = "--plugin-path",
     .value = ARGS_REQUIRED,
     .argument = "FOLDER",
     .take = take_folder,
     .offer = ARGS_OFFER_FOLDER,
     .help = "search here first for scenario/, sink/, device/, reader/ and communicator/"},
    {.name = "--scenario",
     .value = ARGS_REQUIRED,
     .argument = "NAME",
     .take = take_key,
     .offer = ARGS_OFFER_SCENARIO,
     .section = "run",
     .key = "scenario",
     .group = "other spellings of keys"},
    {.name = "--device",
     .value = ARGS_REQUIRED,
     .argument = "NAME",
     .take = take_key,
     .offer = ARGS_OFFER_DEVICE,
     .section = "run",
     .key = "device"},
    KEY("mode", "run", "mode"),
    KEY("trace_dir", "run", "trace_dir"),
    KEY("seed", "run", "seed"),
    KEY("epochs", "run", "epochs"),
    KEY("warmup_steps", "run", "warmup_steps"),
    KEY("profile_steps", "schedule", "active"),
    {.name = "--steps",
     .value = ARGS_REQUIRED,
     .argument = "VALUE",
     .take = take_key,
     .section = "schedule",
     .key = "active",
     .help = ""},
    KEY("batch_size", "data", "batch_size"),
    KEY("image_size", "data", "image_size"),
    KEY("dataset_size", "data", "dataset_size"),
    KEY("num_workers", "data", "num_workers"),
    KEY("prefetch_factor", "data", "prefetch_factor"),
    TRUTH("persistent_workers", "data"),
    TRUTH("pin_memory", "data"),
    TRUTH("amp", "train"),
    TRUTH("channels_last", "train"),
    KEY("lr", "train", "lr"),
    TRUTH("with_stack", "profile"),
    {.name = "--output_json",
     .value = ARGS_REQUIRED,
     .argument = "FILE",
     .take = take_key,
     .offer = ARGS_OFFER_FILE,
     .section = "sink.json",
     .key = "output_json",
     .help = "file of the metrics; empty: none"},
    {.name = "--row_limit",
     .value = ARGS_REQUIRED,
     .argument = "VALUE",
     .take = take_key,
     .section = "sink.table",
     .key = "row_limit",
     .help = "rows of each printed table; -1: all"},
    {.name = "--corrected",
     .value = ARGS_OPTIONAL,
     .argument = "BOOL",
     .take = take_key,
     .section = "sink.table",
     .key = "corrected",
     .help = "also print the step with what recording adds taken off"},
    {.name = "--wide",
     .value = ARGS_OPTIONAL,
     .argument = "BOOL",
     .take = take_key,
     .section = "sink.table",
     .key = "wide",
     .help = "print every column of the tables"},
    COMMAND("show-config", CLI_SHOW_CONFIG, .group = "instead of a run",
            .help = "print every key, its value and where that is from"),
    COMMAND("dump-config", CLI_SHOW_CONFIG, .help = ""),
    COMMAND("check", CLI_CHECK, .help = "check the configuration"),
    COMMAND("dry-run", CLI_DRY_RUN, .help = "print the plan of the run, and estimate its time, disk and memory"),
    COMMAND("list", CLI_LIST, .value = ARGS_NEXT, .argument = "WHAT", .offer = ARGS_OFFER_CHOICES, .allowed = CLI_LISTS,
            .help = "list the plugins, and say why one is rejected"),
    HELP("help-plugin", 0, ARGS_OFFER_PLUGIN, "a plugin's keys"),
    HELP("help-scenario", PD_KIND_SCENARIO, ARGS_OFFER_SCENARIO, "a scenario's keys"),
    HELP("help-sink", PD_KIND_SINK, ARGS_OFFER_SINK, "a sink's keys"),
    HELP("help-device", PD_KIND_DEVICE, ARGS_OFFER_DEVICE, "a device's keys"),
    HELP("help-reader", PD_KIND_READER, ARGS_OFFER_PLUGIN, "a reader's keys"),
    COMMAND("help-section", CLI_HELP_SECTION, .value = ARGS_REQUIRED, .argument = "SECTION[.KEY]",
            .offer = ARGS_OFFER_SECTION, .help = "keys of a section"),
    COMMAND("check-plugin", CLI_CHECK_PLUGIN, .value = ARGS_REQUIRED, .argument = "FILE", .offer = ARGS_OFFER_FILE,
            .help = "run the conformance checks on a plugin; set its keys with -o"),
    COMMAND("explain", CLI_EXPLAIN, .value = ARGS_REQUIRED, .argument = "WORD", .offer = ARGS_OFFER_TOPIC,
            .help = "what a column, a key of the results, a word of the verdict or an error code means"),
    {.name = "--version", .letter = 'V', .take = take_command, .code = CLI_VERSION, .help = "print the version"},
    {.name = "--help", .letter = 'h', .take = take_command, .code = CLI_HELP, .help = "print the page of help"},
    {.name = "--quiet",
     .letter = 'q',
     .take = take_quiet,
     .group = "output",
     .help = "print the verdict in one line; warnings stay"},
    {.name = "--full", .take = take_full, .section = "sink.table", .key = "views", .help = "print every table"},
    {.name = "--verbose", .letter = 'v', .take = take_verbose, .help = "print what the run does; -vv: with times"},
    {.name = "--log",
     .value = ARGS_REQUIRED,
     .argument = "FILE",
     .take = take_log,
     .allowed = "a file",
     .offer = ARGS_OFFER_FILE,
     .help = "also append every line of standard error to this file, whatever is shown"},
    {.name = "--color",
     .value = ARGS_OPTIONAL,
     .argument = "WHEN",
     .take = take_color,
     .offer = ARGS_OFFER_CHOICES,
     .allowed = "auto, always, never",
     .help = "auto (on a terminal), always or never"},
    ARGS_PROGRESS_ROW,
    {.name = "--format",
     .value = ARGS_REQUIRED,
     .argument = "text|json",
     .take = take_format,
     .offer = ARGS_OFFER_CHOICES,
     .allowed = "text, json",
     .help = "format of lists and of help"},
    {.name = "--json", .take = take_format, .code = 'j', .help = ""},
};
enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

const args_option *cli_args_options(uint32_t *count) {
  *count = ROW_COUNT;
  return rows;
}
